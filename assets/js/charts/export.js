// Any figure of the page as a file: an SVG that carries its own colours and type, or a PNG of it, for a slide or a handout.

import { h, svg } from "../core/dom.js";
import { t } from "../core/i18n.js";

// What a style says where it says nothing. Type is written on words only.
const PAINT = {
  fill: "rgb(0, 0, 0)",
  stroke: "none",
  "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  visibility: "visible",
  opacity: "1",
};
const TYPE = {
  "font-size": "",
  "font-weight": "",
  "font-family": "",
  "text-anchor": "start",
  "text-decoration": "none",
  "dominant-baseline": "auto",
};
const SHARP = 2; // pixels of the PNG a pixel of the page

/** Two buttons that save `figure`, seen when it is pointed at. `name` is called for the file's name. */
export function pictureButtons(figure, name) {
  const button = (format, make) =>
    h(
      "button",
      {
        type: "button",
        class: "save",
        title: t(`save.${format}`),
        "aria-label": t(`save.${format}`),
        onclick: async () => download(await make(elementToSvg(figure)), `${name()}.${format}`),
      },
      format.toUpperCase(),
    );
  return h("span", { class: "saves" }, button("svg", svgFile), button("png", pngFile));
}

export function download(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const text = (picture) => new XMLSerializer().serializeToString(picture);
const svgFile = (picture) => new Blob([text(picture)], { type: "image/svg+xml" });

async function pngFile(picture) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(picture))}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * SHARP, height: image.height * SHARP });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** What an element looks like now, as one SVG: its pictures, its boxes and every word where it stands. */
export function elementToSvg(element) {
  const frame = element.getBoundingClientRect();
  const inner = {
    width: Math.max(frame.width, element.scrollWidth),
    height: Math.max(frame.height, element.scrollHeight),
  };
  const picture = svg("svg", { viewBox: `0 0 ${inner.width} ${inner.height}`, ...inner });
  const hatch = document.querySelector("#hatch");
  if (hatch) picture.append(painted(hatch));
  // The theme's own ground, so that its type can be read.
  picture.append(svg("rect", { ...inner, fill: getComputedStyle(element).getPropertyValue("--surface").trim() }));
  addElement(element, picture, frame);
  return picture;
}

function addElement(element, picture, frame) {
  const style = getComputedStyle(element);
  if (style.visibility === "hidden" || !element.getClientRects().length || element.matches(".visually-hidden, .saves"))
    return;
  const box = element.getBoundingClientRect();
  const at = { x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height };
  if (element instanceof SVGElement) {
    const copy = painted(element);
    for (const [name, value] of Object.entries(at)) copy.setAttribute(name, value);
    picture.append(copy);
    return;
  }
  const [fill, line] = [rgb(style.backgroundColor), parseFloat(style.borderTopWidth)];
  if (line || !/, 0\)$|transparent/.test(fill)) {
    const stroke = line
      ? {
          stroke: rgb(style.borderTopColor),
          "stroke-width": line,
          "stroke-dasharray": style.borderTopStyle === "dashed" ? "3 2" : null,
        }
      : {};
    picture.append(
      svg("rect", {
        ...at,
        rx: parseFloat(style.borderTopLeftRadius),
        fill: /, 0\)$/.test(fill) ? "none" : fill,
        opacity: style.opacity,
        ...stroke,
      }),
    );
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) addWords(child, picture, frame, style);
    else if (child.nodeType === Node.ELEMENT_NODE) addElement(child, picture, frame);
  }
}

/** Every word where the page put it, of Chinese every character: SVG breaks no lines. */
function addWords(node, picture, frame, style) {
  const range = document.createRange();
  for (const { 0: word, index } of node.data.matchAll(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const type = {
      fill: rgb(style.color),
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
      "font-family": style.fontFamily,
    };
    picture.append(
      svg(
        "text",
        { x: box.x - frame.x, y: box.y - frame.y + box.height / 2, "dominant-baseline": "central", ...type },
        word,
      ),
    );
  }
}

/** A copy of an SVG element with what the page's style says about every part of it written into it. */
export function painted(original) {
  const copy = original.cloneNode(true);
  const [from, to] = [original, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const value = (property) =>
      (["fill", "stroke"].includes(property) ? rgb : String)(style.getPropertyValue(property));
    const properties = Object.entries(element.matches("text") ? { ...PAINT, ...TYPE } : PAINT);
    const told = properties
      .map(([property, usual]) => [property, value(property), usual])
      .filter(([, now, usual]) => now !== usual);
    for (const name of to[i].getAttributeNames())
      if (/^(class|tabindex|role|data-|aria-)/.test(name)) to[i].removeAttribute(name);
    to[i].setAttribute("style", told.map(([property, now]) => `${property}: ${now}`).join("; "));
  });
  return copy;
}

/** A mixed colour as every program reads it; `none` and `url(…)` stay. */
function rgb(colour) {
  if (!colour.startsWith("oklab") && !colour.startsWith("color(")) return colour;
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return `rgb(${[...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3).join(", ")})`;
}
