// A drawn map as a file: an SVG that carries its own colours and type, for a slide or a handout.

const PAINT = ["fill", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-size", "font-weight", "font-family", "text-anchor", "text-decoration", "dominant-baseline", "visibility"];

export function save(picture, name) {
  const copy = picture.cloneNode(true);
  paint(picture, copy);
  const hatch = document.querySelector("#hatch");
  const pattern = hatch.cloneNode(true);
  paint(hatch, pattern);
  const [x, y, width, height] = picture.getAttribute("viewBox").split(" ");
  const ground = document.createElementNS(picture.namespaceURI, "rect"); // the theme's own, so that its type can be read
  const surface = getComputedStyle(picture).getPropertyValue("--surface");
  for (const [key, value] of Object.entries({ x, y, width, height, fill: surface.trim() })) ground.setAttribute(key, value);
  copy.prepend(pattern, ground);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Write what the page's style says about every element into its copy. */
function paint(original, copy) {
  const [from, to] = [original, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const value = (property) => (["fill", "stroke"].includes(property) ? rgb : String)(style.getPropertyValue(property));
    to[i].setAttribute("style", PAINT.map((property) => `${property}: ${value(property)}`).join("; "));
  });
}

/** A mixed colour as every program reads it; `none` and `url(…)` stay. */
function rgb(colour) {
  if (!colour.startsWith("oklab") && !colour.startsWith("color(")) return colour;
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return `rgb(${[...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3).join(", ")})`;
}
