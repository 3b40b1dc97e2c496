// A drawn map as a file: an SVG that carries its own colours and type, for a slide or a handout.

const PAINT = ["fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-size", "font-weight", "font-family", "text-anchor", "dominant-baseline", "visibility"];

export function save(picture, name) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i].setAttribute("style", PAINT.map((property) => `${property}: ${style.getPropertyValue(property)}`).join("; "));
  });
  const pattern = document.querySelector("#hatch").cloneNode(true);
  const parts = document.querySelector("#hatch").children;
  [...pattern.children].forEach((part, i) => {
    const { fill, stroke, strokeWidth } = getComputedStyle(parts[i]);
    part.setAttribute("style", `fill: ${fill}; stroke: ${stroke}; stroke-width: ${strokeWidth}`);
  });
  copy.prepend(pattern);
  const text = new XMLSerializer().serializeToString(copy);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}
