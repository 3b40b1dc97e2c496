// What a class takes home: one HTML file that needs nothing else, with the figures and the worked head of this run.

import { explainCell } from "../charts/arithmetic.js";
import { heatmap, markRow, thumbnail } from "../charts/attention-map.js";
import { painted } from "../charts/export.js";
import { STAGES, stageSection } from "../charts/sublayer-stages.js";
import { pageAddress } from "../core/address.js";
import { isSilenced } from "../core/changes.js";
import { h, svg, word } from "../core/dom.js";
import { formatList, formatPercent, hasText, language, nodes, t } from "../core/i18n.js";
import { askAboutRun, fetchSublayer } from "../core/server-cache.js";
import { argmax, attentionRow, SIDES, state } from "../core/state.js";
import { shapeTable } from "../tabs/inside.js";
import { describeChange } from "./describe-change.js";
import { checksTable } from "./self-checks.js";

const WIDTH = 680; // px: what A4 holds between its margins

const STYLE = `
@page { size: A4; margin: 15mm; }
* { box-sizing: border-box; }
body { max-width: ${WIDTH}px; margin: 24px auto; padding: 0 12px; color: #1d2433; background: #fff; line-height: 1.5;
  font-family: ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif; font-size: 14px; font-variant-numeric: tabular-nums; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 32px 0 8px; border-bottom: 1px solid #e4e6ea; padding-bottom: 4px; }
h3 { font-size: 15px; margin: 20px 0 4px; } h4 { font-size: 12px; color: #5b6576; margin: 12px 0 4px; } p { margin: 4px 0; }
h1, h2, h3, h4 { break-after: avoid; } table, svg, figure, .stage { break-inside: avoid; } .stage { margin-bottom: 12px; }
svg { max-width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-size: 13px; } th, td { text-align: left; padding: 3px 8px 3px 0; border-bottom: 1px solid #e4e6ea; vertical-align: top; }
.facts td { overflow-wrap: anywhere; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; }
.word { font-weight: 600; } .word.source { color: #a34a08; } .word.target { color: #1d4ed8; } .word.special { border: 1px dashed; border-radius: 4px; padding: 0 4px; }
.hint, .shape, small { color: #5b6576; font-size: 12px; } .formula { font-family: ui-serif, "Cambria Math", Georgia, serif; white-space: pre-wrap; }
.heads { display: grid; grid-template-columns: repeat(8, 1fr); gap: 6px; } .heads figure { margin: 0; }
.arithmetic { line-height: 1.8; } .result { color: #4338ca; } .masked { color: #5b6576; }
@media (width < 480px) { .heads { grid-template-columns: repeat(4, 1fr); } }
`;

/** The file's text. */
export async function handout(server) {
  const { run, baseline, kind, layer, head, query } = state;
  const [facts, data, shapes, checks] = await Promise.all([
    askAboutRun("provenance", server),
    fetchSublayer(server, kind, layer),
    askAboutRun("shapes", server),
    askAboutRun("checks", server),
  ]);
  const ended = new AbortController();
  const worked = [];
  const look = {
    run,
    data,
    kind,
    layer,
    head,
    query,
    server,
    signal: ended.signal,
    tell: (title, body) => worked.push(h("h4", {}, title), ...body),
  };
  const weights = data.at("weights", head, query);
  await explainCell(look, "weight", argmax(weights));
  await explainCell(look, "head_output", 0);
  await explainCell(look, "output", 0);

  const body = [
    h(
      "h1",
      {},
      word(run.sentence, "source"),
      " → ",
      word(run.output.filter((token) => token !== "E").join(" "), "target"),
    ),
    h("p", {}, t("handout.about")),
    ...(run.changes.length
      ? [
          h(
            "p",
            {},
            h("b", {}, t("changed"), ": "),
            formatList(run.changes.map((one) => describeChange(one, baseline))),
          ),
          h("p", {}, nodes("changed.whole", { said: word(baseline.output.join(" "), "target") })),
        ]
      : []),
    facing(
      Object.entries({
        ...provenance(facts),
        [t("handout.link")]: facts.trained ? t("handout.link_own", { link: pageAddress(false) }) : pageAddress(false),
      }),
    ),
    h("h2", {}, t("handout.steps")),
    steps(run, layer),
    ...Object.keys(SIDES).flatMap((each) => maps(each)),
    h("h2", {}, t("handout.worked", { layer: layer + 1, head: head + 1, kind: t(`kind.${kind}`) })),
    ...STAGES.map((name) => stageSection(name, look)),
    h("h3", {}, t("inside.arithmetic")),
    ...worked,
    h("h2", {}, t("checks.title")),
    checksTable(checks.checks),
    h("h2", {}, t("shapes.title")),
    ...shapeTable(shapes).slice(1),
  ];
  const sheet = h("div", { class: "view sheet", style: `width: ${WIDTH}px`, "aria-hidden": "true" }, body);
  document.querySelector(".gradio-container").append(sheet);
  await drawn(); // pictures that grow with their place draw themselves when they have one
  const html = still(sheet);
  ended.abort();
  sheet.remove();
  const title = `${run.sentence} → ${run.output.join(" ")}`;
  const page = h(
    "html",
    { lang: language },
    h(
      "head",
      {},
      h("meta", { charset: "utf-8" }),
      h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
      h("title", {}, title),
      h("style", {}, STYLE),
    ),
    h("body", {}),
  );
  page.querySelector("body").append(...html);
  return `<!doctype html>\n${page.outerHTML}\n`;
}

const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** A copy without buttons and scripts of the page, in the colours of paper. */
function still(sheet) {
  const dark = document.body.classList.contains("dark");
  document.body.classList.remove("dark"); // until the end of this function: nobody sees it
  const copy = sheet.cloneNode(true);
  const pictures = [sheet, copy].map((root) =>
    [...root.querySelectorAll("svg")].filter((each) => !each.parentElement.closest("svg")),
  );
  pictures[0].forEach((picture, i) => pictures[1][i].replaceWith(painted(picture)));
  const hatch = painted(document.querySelector("#hatch"));
  document.body.classList.toggle("dark", dark);
  copy.querySelectorAll(".saves").forEach((each) => each.remove());
  copy.querySelectorAll("button").forEach((each) => each.replaceWith(...each.childNodes));
  copy.querySelectorAll("[tabindex]").forEach((each) => each.removeAttribute("tabindex"));
  return [svg("svg", { width: 0, height: 0, style: "position: absolute" }, hatch), ...copy.childNodes];
}

const facing = (pairs) =>
  h(
    "table",
    { class: "facts" },
    h(
      "tbody",
      {},
      pairs.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))),
    ),
  );

const provenance = ({ checkpoint, seed, command, trained, weights, device, versions }) => ({
  [t("handout.checkpoint")]: t("handout.checkpoint_of", { checkpoint, weights }),
  [t("handout.seed")]: seed ?? "–",
  [t("handout.command")]: trained
    ? t("handout.trained", { pairs: trained.pairs, steps: trained.steps ?? "–" })
    : (command ?? "–"),
  ...(trained ? { [t("train.settings")]: formatList(Object.entries(trained.settings).map(setting)).join("") } : {}),
  [t("handout.device")]: device,
  [t("handout.versions")]: Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", "),
});

/** A setting as Train calls it. */
function setting([name, value]) {
  const choice =
    typeof value === "boolean" ? (name === "norm_first" ? (value ? "before" : "after") : value ? "on" : "off") : value;
  return t("handout.setting", {
    name: t(`train.set.${name}`),
    value: hasText(`train.choice.${choice}`) ? t(`train.choice.${choice}`) : String(value),
  });
}

function steps(run, layer) {
  const cross = Math.min(layer, run.attention.cross.layers - 1);
  const looked = t(run.attention.cross.heads > 1 ? "handout.step.looks" : "handout.step.looks_alone", {
    layer: cross + 1,
  });
  const heading = [...["step", "reads", "says", "next"].map((name) => t(`handout.step.${name}`)), looked].map((name) =>
    h("th", { scope: "col" }, name),
  );
  const rows = run.steps.map(({ token, probability, candidates }, step) => {
    const looks = attentionRow("cross", cross, null, step);
    const key = argmax(looks);
    const others = candidates.filter((each) => each.token !== token).slice(0, 2); // what was said need not be the likeliest
    const open = run.attention.cross.allowed[step].includes(true);
    return h(
      "tr",
      {},
      h("td", {}, String(step + 1)),
      h("td", {}, word(run.decoder_input[step], "target")),
      h("td", {}, word(token, "target"), ` ${formatPercent(probability)}`),
      h("td", {}, others.map((each) => `${each.token} ${formatPercent(each.probability)}`).join(", ")),
      h("td", {}, open ? [word(run.source[key], "source"), ` ${formatPercent(looks[key])}`] : t("handout.nothing")),
    );
  });
  return h("table", { class: "steps" }, h("thead", {}, h("tr", {}, heading)), h("tbody", {}, rows));
}

/** The chosen head large, and every head of every layer small. */
function maps(kind) {
  const { run } = state;
  const { layers, heads } = run.attention[kind];
  const [layer, head] = [Math.min(state.layer, layers - 1), Math.min(state.head, heads - 1)];
  const sides = SIDES[kind];
  const places = {
    head: head + 1,
    layer: layer + 1,
    from: word(t(`side.${sides[0]}`), sides[0]),
    at: word(t(`side.${sides[1]}`), sides[1]),
  };
  const large = heatmap(kind, layer, head, { width: WIDTH, sides });
  markRow(large, null);
  return [
    h("h2", {}, t("handout.maps", { kind: t(`kind.${kind}`) })),
    h("p", {}, nodes("attention.axes", places)),
    large,
    ...(isSilenced(kind, layer, head, run.changes) ? [h("p", {}, t("silenced.shown"))] : []),
    ...Array.from({ length: layers }, (_, l) => [
      h("h4", {}, t("attention.all_heads", { layer: l + 1 })),
      h(
        "div",
        { class: "heads" },
        Array.from({ length: heads }, (_, i) => h("figure", {}, thumbnail(kind, l, i))),
      ),
    ]).flat(),
  ];
}
