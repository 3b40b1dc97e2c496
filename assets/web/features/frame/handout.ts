// A class's handout: one HTML file with a worksheet, its answers, the figures and the worked head of this run.

import type { Provenance } from "#schema";
import { assetAddress } from "../../api/schema.ts";
import type { Child, Kind, Run } from "../../api/types.ts";
import { cellExplainer } from "../../charts/arithmetic.ts";
import { describedMap } from "../../charts/attention-map.ts";
import { fetchLens, lensCaveat, lensTable } from "../../charts/lens.ts";
import { thumbnail } from "../../charts/map-canvas.ts";
import { STAGES, shapeTable, stageContent } from "../../charts/sublayer-stages.ts";
import { explainWord, findWhy, secondWord } from "../../charts/why.ts";
import { argmax } from "../../engine/arrays.ts";
import { pageAddress } from "../../state/address.ts";
import { isAblated } from "../../state/changes.ts";
import { fetchMeasured } from "../../state/contributions.ts";
import { formatList, formatPercent, hasText, joinSentences, language, nodes, t } from "../../state/i18n.ts";
import { askAboutRun, askOnce, fetchSublayer } from "../../state/server-cache.ts";
import { KINDS, SIDES, shownHead, state } from "../../state/state.ts";
import { outputToken, tokenIndex, tokenRun } from "../../state/words.ts";
import { describeChange } from "../../ui/describe.ts";
import { h, isDark, twoFrames, word } from "../../ui/dom.ts";
import { elementToSvg, painted, rgb } from "../../ui/export.ts";
import { fixed } from "../../ui/numbers.ts";
import { cells, hint, rowHeading, table } from "../../ui/parts.ts";
import { checksTable } from "./self-checks.ts";
import { named, strongestWord, wordWithShare, worksheet } from "./worksheet.ts";

const WIDTH = 680; // px: what A4 holds between its margins

/** The file's text; an error where another run is shown before it is done. */
export async function handout() {
  const { run } = state;
  const [measured, facts, rows, checks, style] = await Promise.all([
    fetchMeasured(run),
    askAboutRun("provenance"),
    askOnce("shapes", { checkpoint: run.checkpoint }),
    askAboutRun("checks"),
    fetch(assetAddress("/handout.css")).then((answer) => answer.text()),
  ]);
  const ended = new AbortController();
  const content = [
    await worksheet(WIDTH),
    openingSection(),
    factsTable(facts),
    h("h2", {}, t("handout.steps")),
    stepTable(run),
    await lensSection(run),
    await whySection(run),
    KINDS.map((kind) => mapSection(kind, measured)),
    await workedHead(ended.signal),
    h("h2", {}, t("checks.title")),
    checksTable(checks),
    h("h2", {}, t("shapes.title")),
    shapeTable(rows),
  ];
  if (state.run !== run) throw new Error("a file of two runs");
  const sheet = h("div", { class: "view sheet", style: `width: ${WIDTH}px`, "aria-hidden": "true" }, content);
  document.querySelector(".gradio-container")?.append(sheet);
  await twoFrames(); // pictures as wide as their place draw themselves when they have one
  const copy = staticCopy(sheet);
  ended.abort();
  sheet.remove();
  const head = [
    h("meta", { charset: "utf-8" }),
    h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    h("title", {}, `${run.sentence} → ${run.text}`),
    h("style", {}, style),
  ];
  const body = h("body", { style: `max-width: ${WIDTH}px` }, copy);
  return `<!doctype html>\n${h("html", { lang: language }, h("head", {}, head), body).outerHTML}\n`;
}

/** A copy without the page's buttons and scripts, in the colours of paper. */
function staticCopy(sheet: HTMLElement) {
  const wasDark = isDark();
  document.body.classList.remove("dark"); // until the end of this function: no frame is drawn meanwhile
  dispatchEvent(new Event("beforeprint"));
  const copy = sheet.cloneNode(true) as HTMLElement;
  const [pictures, copies] = [sheet, copy].map((root) =>
    [...root.querySelectorAll(".heatmap, canvas, svg")].filter((each) => !each.parentElement?.closest(".heatmap, svg")),
  );
  const [cells, tinted] = [sheet, copy].map((root) => [...root.querySelectorAll<HTMLElement>(".tint")]);
  for (const [i, cell] of cells.entries()) {
    const { backgroundColor, color } = getComputedStyle(cell);
    tinted[i].setAttribute("style", `background: ${rgb(backgroundColor)}; color: ${color}`);
  }
  for (const [i, picture] of pictures.entries()) {
    if (picture instanceof HTMLCanvasElement) copies[i].replaceWith(h("img", { src: picture.toDataURL(), alt: "" }));
    else copies[i].replaceWith(picture instanceof SVGElement ? painted(picture) : elementToSvg(picture));
  }
  document.body.classList.toggle("dark", wasDark);
  dispatchEvent(new Event("afterprint"));
  for (const each of copy.querySelectorAll("button")) each.replaceWith(...each.childNodes);
  for (const each of copy.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");
  return [...copy.childNodes];
}

function openingSection() {
  const { run, baseline } = state;
  const changes = baseline && [
    h("p", {}, named(h("b", {}, t("changed")), formatList(run.changes.map((each) => describeChange(each, baseline))))),
    h("p", {}, nodes("changed.original", { output: word(baseline.output.join(" "), "target") })),
  ];
  return [
    h("h1", {}, word(run.sentence, "source"), " → ", word(run.text, "target")),
    h("p", {}, t("handout.about")),
    changes,
  ];
}

function factsTable({ checkpoint, seed, command, trained, licence, weights, device, versions }: Provenance) {
  const address = pageAddress(false);
  const versionList = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const training = trained && t("handout.trained", { pairs: trained.pairs, steps: trained.steps ?? "–" });
  const rows: [string, Child][] = [
    ["handout.checkpoint", t("handout.checkpoint_of", { checkpoint, weights })],
    ["handout.seed", seed ?? "–"],
    ["handout.command", training ?? command ?? "–"],
    ["handout.device", device],
    ["handout.versions", versionList.join(", ")],
    ["handout.link", trained ? t("handout.link_own", { link: address }) : address],
  ];
  if (licence !== null) rows.splice(1, 2, ["handout.published", t("handout.licence", { licence: licence || "–" })]);
  if (trained) rows.splice(3, 0, ["train.settings", formatList(Object.entries(trained.settings).map(describeSetting))]);
  const lines = rows.map(([key, value]) => h("tr", {}, rowHeading(t(key)), h("td", {}, value)));
  return h("table", { class: "facts" }, h("tbody", {}, lines));
}

function describeSetting([name, value]: [string, unknown]) {
  const names = name === "norm_first" ? ["after", "before"] : ["off", "on"];
  const choice = `train.choice.${typeof value === "boolean" ? names[Number(value)] : value}`;
  return t("handout.setting", { name: t(`train.set.${name}`), value: hasText(choice) ? t(choice) : String(value) });
}

function stepTable(run: Run) {
  const { heads, allowed } = run.attention.cross;
  const { layer } = shownHead("cross");
  const attention = t(heads > 1 ? "handout.step.looks" : "handout.step.looks_alone", { layer: layer + 1 });
  const headings = ["step", "reads", "says", "next"].map((name) => t(`handout.step.${name}`));
  const rows = run.steps.map(({ token, probability, candidates }, step) => {
    // The output need not be the likeliest.
    const others = candidates.filter((each) => each.token !== outputToken(run.steps[step])).slice(0, 2);
    const contents = [
      step + 1,
      word(run.decoder_input[step], "target"),
      wordWithShare(token, "target", probability),
      others.map((each) => `${each.token} ${formatPercent(each.probability)}`).join(", "),
      allowed[step].includes(true) ? strongestWord(layer, null, step) : t("handout.nothing"),
    ];
    return h("tr", {}, cells(contents));
  });
  return table({ class: "steps" }, [...headings, attention], rows);
}

async function lensSection(run: Run) {
  const lens = await fetchLens(run);
  return [
    h("h2", {}, t("lesson.knows")),
    h("p", {}, joinSentences(t("handout.lens"), lensCaveat(lens, run))),
    lensTable(run, lens, [...run.output.keys()]),
  ];
}

/** Why the output that is in view. */
async function whySection(run: Run) {
  const step = tokenIndex(run, "cross", state.step);
  const other = state.why === "contrast" ? secondWord(run, step) : null;
  const answer = await findWhy(run, step, other);
  if (!answer) return null;
  const { title, said, table, folded, warning, about } = explainWord(run, { step, answer, other });
  return [
    h("h2", {}, t("why.title")),
    h("h3", {}, title),
    h("p", {}, said),
    table,
    folded ? hint(t("inside.more", { count: folded })) : null,
    warning,
    about,
  ];
}

/** With its heading: Firefox knows no `break-after: avoid`. */
const onOnePage = (...content: Child[]) => h("div", { class: "on-one-page" }, content);

function mapSection(kind: Kind, run: Run) {
  const { layers, heads, most } = run.attention[kind];
  const { layer, head } = shownHead(kind);
  const [from, at] = SIDES[kind].map((side) => word(t(`side.${side}`), side));
  const small = (ofLayer: number) => {
    const figures = Array.from({ length: heads }, (_, i) => h("figure", {}, thumbnail(kind, ofLayer, i, run)));
    return onOnePage(
      h("h3", {}, t("attention.all_heads", { layer: ofLayer + 1 })),
      h("div", { class: "heads" }, figures),
    );
  };
  return [
    onOnePage(
      h("h2", {}, t("handout.maps", { kind: t(`kind.${kind}`) })),
      h("p", {}, nodes("attention.axes", { head: head + 1, layer: layer + 1, from, at })),
      describedMap({ run, kind, layer, head }, { width: WIDTH, isOnPaper: true }),
    ),
    most ? h("p", {}, t("contribution.about", { layers, heads, most: fixed(most, 2) })) : null,
    isAblated(kind, layer, head, run.changes) ? h("p", {}, t("ablation.shown")) : null,
    Array.from({ length: layers }, (_, ofLayer) => small(ofLayer)),
  ];
}

async function workedHead(signal: AbortSignal) {
  const { kind, layer, head } = state;
  const [run, query] = [tokenRun(state.run), tokenIndex(state.run, kind, state.query)];
  const data = await fetchSublayer(kind, layer);
  const arithmetic: Child[] = [];
  const explain = cellExplainer((title, body) => arithmetic.push(h("h4", {}, title), ...body));
  const view = { run, data, kind, layer, head, query, signal, explain };
  await explain(view, "weight", argmax(data.at("weights", head, query)));
  await explain(view, "head_output", 0);
  await explain(view, "output", 0);
  const title = h("h2", {}, t("handout.worked", { layer: layer + 1, head: head + 1, kind: t(`kind.${kind}`) }));
  const [first, ...others] = STAGES.map((stage) =>
    h("section", { class: "stage", id: `stage-${stage}` }, stageContent(stage, view)),
  );
  return [onOnePage(title, first), others, h("h3", {}, t("inside.arithmetic")), arithmetic];
}
