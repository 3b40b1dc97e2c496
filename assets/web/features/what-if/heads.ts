// The heads of What if: ablated by a click, and coloured by the probability that is lost without them.

import type { Sweep } from "#schema";
import { type HeadStream, streamHeads } from "../../api/head-stream.ts";
import type { Change, Kind, Run } from "../../api/types.ts";
import { gridCells } from "../../charts/head-grids.ts";
import { contrastClass } from "../../charts/map-parts.ts";
import { argmax, range } from "../../engine/arrays.ts";
import { changes, findChange, isAblated, replaceChange, requestChanges, toggleChange } from "../../state/changes.ts";
import { formatPercents, joinSentences, nodes, t } from "../../state/i18n.ts";
import { askOnce } from "../../state/server-cache.ts";
import { baselineRun, eachHead, KINDS, state } from "../../state/state.ts";
import { h, namedChoice, replaceKeepingFocus, scrollBox, setChildren, word } from "../../ui/dom.ts";
import { headProgress } from "../../ui/duration.ts";
import { fixed } from "../../ui/numbers.ts";
import { button } from "../../ui/parts.ts";

/** Heads may be missing yet. `isLong`: a whole translation is too unlikely, so its tokens' mean is measured. */
type AnySweep = Omit<Sweep, "drop"> & { drop: Record<string, (number | null)[][]>; isLong?: boolean };
type Parts = ReturnType<typeof build>;

const VISIBLE_LOSS = 0.0005; // that is seen in the digits that are shown
const MIN_SCALE = 0.02; // the loss that has the strongest colour, where all are smaller
const MIN_PROBABILITY = 0.01; // of which a loss can be seen

const MODES = ["ablate", "only"] as const;
const SAMPLES = ["sentence", "held_out"] as const;

const chosen = {
  mode: "ablate" as (typeof MODES)[number], // what a click does: ablate a head, or all others of its layer
  sample: "sentence" as (typeof SAMPLES)[number], // what a sweep is made on
  kind: "cross" as Kind, // whose heads are shown; the maps below may be of another
  isSwept: false, // from the first sweep on, every run is swept
};

export function headControls() {
  const parts = build();
  const choices = h("div", { class: "controls" }, parts.kind.element, parts.mode.element);
  const sweeping = h("div", { class: "controls sweep" }, parts.sweepButton, parts.sample.element);
  const body = h("div", {}, choices, scrollBox(parts.grid), sweeping, parts.summary);
  return { name: "heads", body, draw: () => draw(parts) };
}

function build() {
  const choose = (choice: Partial<typeof chosen>) => {
    Object.assign(chosen, choice);
    draw(parts);
  };
  const parts = {
    kind: namedChoice(t("attention.which"), KINDS, "kind", (kind) => choose({ kind })),
    mode: namedChoice(t("panel.heads.how"), MODES, "panel.heads", (mode) => choose({ mode })),
    grid: h("div", { class: "score-grid" }),
    sample: namedChoice(t("panel.sweep.on"), SAMPLES, "panel.sweep", (sample) => {
      chosen.sample = sample;
      sweep(parts);
    }),
    sweepButton: button("pill", h("span", {}, t("panel.sweep")), () => void sweep(parts), { id: "sweep" }),
    summary: h("p", { class: "hint", "aria-live": "polite" }),
    sweep: null as AnySweep | null, // that the grid is coloured by
    stream: null as HeadStream | null, // that it comes from, of a real model
    question: "", // that it answers
  };
  return parts;
}

const question = () => ({ checkpoint: state.run.checkpoint, sentence: state.run.sentence, on: chosen.sample });

async function sweep(parts: Parts): Promise<void> {
  const { run } = state;
  chosen.isSwept = !run.model.pieces; // of a real model it takes long, so it is asked for every time
  const asked = question();
  parts.question = JSON.stringify(asked);
  parts.sweep = null; // it answers another question, of a model with other heads perhaps
  parts.stream?.stop();
  parts.stream = null;
  if (run.model.pieces && asked.on === "sentence") return streamSweep(parts, baselineRun());
  const answer = await askOnce("sweep", asked).catch(() => null);
  if (parts.question !== JSON.stringify(asked)) return; // something else is wanted by now
  parts.sweep = answer;
  draw(parts);
  if (!answer) parts.summary.textContent = t("panel.sweep.none");
}

function streamSweep(parts: Parts, run: Run) {
  const unknown = (kind: Kind) => eachHead(run.attention[kind], (): number | null => null);
  const drop = Object.fromEntries(KINDS.map((kind) => [kind, unknown(kind)]));
  const stream = streamHeads("sweep", run, (event) => {
    if (parts.stream !== stream) return; // something else is wanted by now
    if (event?.event === "swept") {
      const { reference, tokens } = event;
      const isLong = event.baseline < MIN_PROBABILITY; // of whose probability no loss would be seen
      const shown = (probability: number) => (isLong ? probability ** (1 / tokens) : probability);
      const baseline = shown(event.baseline);
      for (const { kind, layer, head, drop: lost } of event.drops)
        drop[kind][layer][head] = baseline - shown(Math.max(0, event.baseline - lost));
      parts.sweep = { sentences: 1, baseline, reference, drop, isLong };
    }
    draw(parts);
  });
  parts.stream = stream;
  draw(parts);
}

function draw(parts: Parts): void {
  if (parts.stream && parts.question !== JSON.stringify(question())) {
    parts.stream.stop(); // another sentence is shown by now
    Object.assign(parts, { stream: null, sweep: null, question: "" });
  }
  if (chosen.isSwept && parts.question !== JSON.stringify(question())) sweep(parts);
  const { kind } = chosen;
  const maps = state.run.attention[kind];
  parts.kind.set(kind);
  parts.mode.set(chosen.mode);
  parts.sample.set(chosen.sample);
  const layerOf = (layer: number) => layerButton(kind, layer, maps.heads);
  const cells = gridCells(maps, layerOf, (layer, head) => headButton(parts, kind, layer, head));
  parts.grid.style.setProperty("--heads", String(maps.heads));
  replaceKeepingFocus(parts.grid, cells);
  const isKnown = parts.sweep?.drop[kind].flat().some((each) => each !== null);
  const about = t(state.run.model.pieces ? "panel.sweep.about_real" : "panel.sweep.about");
  const summary = parts.sweep && isKnown ? describeSweep(parts.sweep, kind) : parts.stream ? null : about;
  setChildren(parts.summary, parts.stream && headProgress(parts.stream, () => void sweep(parts)), " ", summary);
}

function layerButton(kind: Kind, layer: number, heads: number) {
  const attributes = { "data-place": layer, title: t("panel.layer") };
  return button("axis", t("layer_n", { layer: layer + 1 }), () => toggleLayer(kind, layer, heads), attributes);
}

const scaleOf = ({ drop }: AnySweep, kind: Kind) =>
  Math.max(MIN_SCALE, ...drop[kind].flat().map((each) => Math.abs(each ?? 0)));

function headButton({ sweep: result }: Parts, kind: Kind, layer: number, head: number) {
  const isOff = isAblated(kind, layer, head);
  const drop = result?.drop[kind][layer][head] ?? null;
  const isGain = drop !== null && drop < 0;
  const strength = result && drop ? (96 * Math.abs(drop)) / scaleOf(result, kind) : 0; // % of the hue
  const places = { layer: layer + 1, head: head + 1, points: drop === null ? "" : fixed(-100 * drop, 1) };
  const label = isOff ? "panel.head_ablated" : drop === null ? "panel.head" : "panel.head_drop";
  const points = drop === null ? "" : fixed(100 * drop, Math.abs(drop) < 0.095 ? 1 : 0).replace(/^−?0\.0$/, "0");
  const classes = `score ${contrastClass(strength, isGain)} ${isOff ? "off" : isGain ? "gain" : ""}`;
  return button(classes.trim(), isOff ? "×" : points, () => pressHead(kind, layer, head), {
    style: `--score: ${strength.toFixed(1)}%`,
    "aria-pressed": isOff,
    "aria-label": t(label, places),
    data: { place: `${layer} ${head}`, drop },
  });
}

const changesElsewhere = (kind: Kind, layer: number) =>
  changes().filter(
    (each) => !((each.do === "ablate" || each.do === "isolate") && each.kind === kind && each.layer === layer),
  );

function toggleLayer(kind: Kind, layer: number, heads: number) {
  const ablations = range(heads).map((head): Change => ({ do: "ablate", kind, layer, head }));
  const areOff = range(heads).every((head) => isAblated(kind, layer, head));
  requestChanges([...changesElsewhere(kind, layer), ...(areOff ? [] : ablations)]);
}

/** Ablate a head or undo it; or keep it, and ablate the others of its layer. */
function pressHead(kind: Kind, layer: number, head: number) {
  const { heads: count } = state.run.attention[kind];
  const isolated = findChange({ do: "isolate", kind, layer });
  const kept = isolated?.heads ?? [];
  const isolation = (heads: number[]) =>
    heads.length && heads.length < count ? ({ do: "isolate", kind, layer, heads } as Change) : null;
  const added = [...kept, head].sort((a, b) => a - b);
  if (chosen.mode === "only") {
    const next = isolation(kept.includes(head) ? kept.filter((each) => each !== head) : added);
    requestChanges([...changesElsewhere(kind, layer), ...(next ? [next] : [])]);
  } else if (isolated && !kept.includes(head)) replaceChange({ do: "isolate", kind, layer }, isolation(added));
  else toggleChange({ do: "ablate", kind, layer, head });
}

function describeSweep(sweep: AnySweep, kind: Kind) {
  const { drop, baseline, sentences, reference, isLong } = sweep;
  const heads = drop[kind].flatMap((row, layer) =>
    row.flatMap((value, head) => (value === null ? [] : [{ value, layer, head }])),
  );
  const most = heads[argmax(heads.map(({ value }) => Math.abs(value)))];
  const [before, left] = formatPercents(baseline, Math.max(0, baseline - most.value));
  const output = reference && word(reference, "target");
  const places = { layer: most.layer + 1, head: most.head + 1, baseline: before, left, sentences, output };
  const effect = Math.abs(most.value) < VISIBLE_LOSS ? "same" : most.value < 0 ? "better" : "drop";
  const measured = isLong ? `${effect}_mean` : reference ? effect : `${effect}_many`;
  const name = baseline < MIN_PROBABILITY ? "small" : measured;
  const summary = nodes(`panel.sweep.${name}`, places);
  const darkest = t("panel.sweep.darkest", { points: fixed(100 * scaleOf(sweep, kind), 1) });
  return joinSentences(summary, darkest, state.baseline ? t("panel.sweep.original") : "");
}
