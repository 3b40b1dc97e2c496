// Any figure of the page as a file: an SVG that carries its own colours and type, or a PNG of it.

import { forgetModel } from "../api/models.ts";
import { fetchModelFile } from "../api/server.ts";
import type { Child, OwnModel } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { h, isVisible, svg } from "./dom.ts";
import { button } from "./parts.ts";

// Default values of styles. Type is written on words only.
const PAINT: Record<string, string> = {
  fill: "rgb(0, 0, 0)",
  "fill-opacity": "1",
  stroke: "none",
  "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  visibility: "visible",
  opacity: "1",
  "image-rendering": "auto",
};
const TYPE: Record<string, string> = {
  "font-size": "",
  "font-weight": "",
  "font-family": "",
  "text-anchor": "start",
  "text-decoration": "none",
  "dominant-baseline": "auto",
};
const SHARP = 2; // pixels of the PNG a pixel of the page

const pictures = new WeakMap<Element, { figure: Element; name: () => string }>();

/** Let the menu of the tab save `figure`, which stands in `frame`. `name` is called for the file's name. */
export function savable<Frame extends Element>(frame: Frame, figure: Element, name: () => string) {
  frame.classList.add("savable");
  pictures.set(frame, { figure, name });
  return frame;
}

/** A figure in a frame of its own; `children` where more than the figure stands in it. */
export const pictureFrame = (figure: Element, name: () => string, children: Child = figure) =>
  savable(h("div", {}, children), figure, name);

export function pictureRows() {
  const frames = [...document.querySelectorAll<HTMLElement>("[role=tabpanel].open .savable")];
  return frames.flatMap((frame) => {
    const picture = pictures.get(frame);
    return picture && isVisible(frame) ? [pictureRow(picture.figure, picture.name)] : [];
  });
}

function pictureRow(figure: Element, name: () => string) {
  const saver = (format: "svg" | "png", make: (picture: SVGSVGElement) => Promise<Blob>) => {
    const title = t(`save.${format}`, { name: name() });
    const save = async () => {
      dispatchEvent(new Event("beforeprint")); // which draws what waits to be in sight, and canvases finely
      const picture = elementToSvg(figure);
      dispatchEvent(new Event("afterprint"));
      download(await make(picture), `${name()}.${format}`);
    };
    return button("save", format.toUpperCase(), save, { title, "aria-label": title });
  };
  return h("p", { class: "saves" }, h("span", {}, name()), saver("svg", svgFile), saver("png", pngFile));
}

export function download(blob: Blob, name: string) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // Safari asks before the first download
}

const text = (picture: Node) => new XMLSerializer().serializeToString(picture);
const svgFile = async (picture: SVGSVGElement) => new Blob([text(picture)], { type: "image/svg+xml" });

async function pngFile(picture: SVGSVGElement) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text(picture))}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width * SHARP, image.height * SHARP);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}

/** Draw an element as it looks now as one SVG: its pictures, its boxes and every word where it stands. */
export function elementToSvg(element: Element) {
  const place = element.closest(".scroll, .fluid"); // what sticks to its edges belongs to its beginning
  const scrolled = { left: place?.scrollLeft, top: place?.scrollTop };
  place?.scrollTo(0, 0);
  const frame = element.getBoundingClientRect();
  const inner = {
    width: Math.max(frame.width, element.scrollWidth),
    height: Math.max(frame.height, element.scrollHeight),
  };
  const picture = svg("svg", { viewBox: `0 0 ${inner.width} ${inner.height}`, ...inner });
  // The theme's own ground, so that its type can be read.
  picture.append(svg("rect", { ...inner, fill: getComputedStyle(element).getPropertyValue("--surface").trim() }));
  addElement(element, picture, frame);
  place?.scrollTo(scrolled);
  return picture;
}

function addElement(element: Element, picture: SVGSVGElement, frame: DOMRect) {
  const style = getComputedStyle(element);
  if (style.visibility === "hidden" || !element.getClientRects().length || element.matches(".visually-hidden")) return;
  const box = element.getBoundingClientRect();
  const at = { x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height };
  if (element instanceof SVGElement) {
    const copy = painted(element);
    for (const [name, value] of Object.entries({ ...at, overflow: style.overflow }))
      copy.setAttribute(name, String(value));
    picture.append(copy);
    return;
  }
  if (element instanceof HTMLCanvasElement) {
    const look = { style: `image-rendering: ${style.imageRendering}`, opacity: style.opacity };
    picture.append(svg("image", { ...at, ...look, preserveAspectRatio: "none", href: element.toDataURL() }));
    return;
  }
  const line = parseFloat(style.borderTopWidth);
  const fill = rgb(style.backgroundColor);
  const isClear = /, 0\)$|transparent/.test(fill);
  if (line || !isClear) {
    const border = {
      stroke: rgb(style.borderTopColor),
      "stroke-width": line,
      "stroke-dasharray": style.borderTopStyle === "dashed" ? "3 2" : null,
    };
    const corner = { rx: parseFloat(style.borderTopLeftRadius), opacity: style.opacity };
    picture.append(svg("rect", { ...at, ...corner, fill: isClear ? "none" : fill, ...(line ? border : {}) }));
  }
  for (const child of element.childNodes) {
    if (child instanceof Text) addWords(child, picture, frame, style);
    else if (child instanceof Element) addElement(child, picture, frame);
  }
}

/** Every word where the page put it, of Chinese every character: SVG breaks no lines. */
function addWords(node: Text, picture: SVGSVGElement, frame: DOMRect, style: CSSStyleDeclaration) {
  const { fontSize, fontWeight, fontFamily } = style;
  const type = {
    fill: rgb(style.color),
    "font-size": fontSize,
    "font-weight": fontWeight,
    "font-family": fontFamily,
  };
  const range = document.createRange();
  for (const { 0: word, index } of node.data.matchAll(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const at = { x: box.x - frame.x, y: box.y - frame.y + box.height / 2, "dominant-baseline": "central" };
    picture.append(svg("text", { ...at, ...type }, word));
  }
}

/** A copy of an SVG element with what the page's style says about every part of it written into it. */
export function painted(original: SVGElement) {
  const copy = original.cloneNode(true) as SVGElement;
  const parts = [copy, ...copy.querySelectorAll("*")];
  [original, ...original.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(element);
    const usual = Object.entries(element.matches("text") ? { ...PAINT, ...TYPE } : PAINT);
    const declarations = usual.flatMap(([property, value]) => {
      const now = style.getPropertyValue(property);
      const drawn = property === "fill" || property === "stroke" ? rgb(now) : now;
      return drawn === value ? [] : [`${property}: ${drawn}`];
    });
    for (const name of parts[i].getAttributeNames())
      if (/^(class|tabindex|role|data-|aria-)/.test(name)) parts[i].removeAttribute(name);
    parts[i].setAttribute("style", declarations.join("; "));
  });
  return copy;
}

/** A mixed colour as every program reads it; `none` and `url(…)` stay. */
export function rgb(colour: string) {
  if (!colour.startsWith("oklab") && !colour.startsWith("color(")) return colour;
  const pixel = new OffscreenCanvas(1, 1).getContext("2d") as OffscreenCanvasRenderingContext2D;
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return `rgb(${[...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3).join(", ")})`;
}

export async function downloadModel({ checkpoint, name }: OwnModel, complain: (text: string) => void) {
  const answer = await fetchModelFile(checkpoint).catch(() => null);
  if (answer?.ok) {
    download(await answer.blob(), `${name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.safetensors`);
    return;
  }
  complain(t(answer ? "error.model_gone" : "file.not_taken"));
  if (answer) forgetModel(checkpoint);
}
