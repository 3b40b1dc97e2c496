// Translate: the decoding as a story, a step at a time.

import { findChange, replaceChange, isSilenced } from "../core/changes.js";
import { UNIFORM_MARGIN, argmax, subscribe, goldLink, attentionRow, state, update } from "../core/state.js";
import { h, numberedOptions, replaceKeepingFocus, scrollBox, segmented, word } from "../core/dom.js";
import { formatPercent, hasText, joinSentences, nodes, t } from "../core/i18n.js";
import { paddingMasked } from "../charts/attention-map.js";
import { models } from "../net/models.js";
import { pictureButtons } from "../charts/export.js";

export const MAX_CANDIDATES = 8;

export function mount({ element }) {
  const file = (what) => () => `step-${state.step + 1}-${what}`;
  const cards = h("ol", { class: "cards" });
  const heading = h("h2");
  const bars = h("ol", { class: "bars" });
  const candidates = h("ol", { class: "candidates" });
  const pickers = h("div", { class: "pickers" });
  const explained = h("p", { class: "hint" });
  const hush = h("p", { class: "hint", hidden: true }, t("silenced.shown"));
  const loop = h("p", { class: "hint" });
  const limits = h("p", { class: "hint" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  element.replaceChildren(
    say,
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, t("translate.said")),
        cards,
        heading,
        h("div", { class: "kept" }, scrollBox(bars), pictureButtons(bars, file("looks"))),
        pickers,
        hush,
        explained,
      ),
      h(
        "section",
        { class: "card kept" },
        pictureButtons(candidates, file("candidates")),
        h("h2", {}, t("translate.candidates")),
        candidates,
        loop,
        limits,
      ),
    ),
  );

  let drawn = null;
  let shape = null;
  let layers, heads;
  subscribe(element, () => {
    const { run, step, head, averaged } = state;
    const cross = run.attention.cross;
    const layer = Math.min(state.layer, cross.layers - 1);
    if (shape !== `${cross.layers} ${cross.heads}`) {
      shape = `${cross.layers} ${cross.heads}`;
      layers = segmented(t("layer"), numberedOptions(cross.layers), (value) => update({ layer: Number(value) }));
      heads = segmented(t("head"), [["mean", t("mean")], ...numberedOptions(cross.heads)], (value) =>
        update(value === "mean" ? { averaged: true } : { averaged: false, head: Number(value) }),
      );
      pickers.replaceChildren(pair(t("layer"), layers.element), pair(t("head"), heads.element));
    }
    layers.set(layer);
    heads.set(averaged ? "mean" : head);

    if (drawn !== run) {
      drawn = run;
      cards.replaceChildren(...run.steps.map(card));
      const layered = cross.layers > 1 ? t("translate.layers", { layers: cross.layers }) : t("translate.one_layer");
      const headed = cross.heads > 1 ? t("translate.heads", { heads: cross.heads }) : t("translate.one_head");
      const padded = paddingMasked(run, "encoder") && paddingMasked(run, "cross") ? t("translate.padded") : "";
      explained.replaceChildren(...joinSentences(layered, headed, padded));
      loop.textContent = t(findChange({ do: "force_word" }, run.changes) ? "translate.loop_forced" : "translate.loop");
    }
    [...cards.children].forEach((each, i) => {
      each.className = i > step ? "future" : i === step ? "now" : "";
      each.firstChild.setAttribute("aria-current", i === step ? "step" : "false");
    });

    const look = attentionRow("cross", layer, averaged ? null : head, step);
    const who = averaged && cross.heads > 1 ? t("mean_of", { heads: cross.heads }) : t("head_n", { head: head + 1 });
    heading.textContent = t("translate.where", { step: step + 1, layer: layer + 1, who });
    hush.hidden = (averaged && cross.heads > 1) || !isSilenced("cross", layer, averaged ? 0 : head, run.changes);
    const why = (s) =>
      cross.keys[s] === "P" && paddingMasked(run, "cross") ? "translate.padding" : "translate.closed";
    bars.style.setProperty("--count", look.length);
    bars.replaceChildren(
      ...look.map((share, s) => {
        const masked = !cross.allowed[step][s];
        return h(
          "li",
          {
            "data-weight": share,
            class: masked ? "masked" : state.gold ? `gold ${goldLink(step, s)}` : "",
            title: masked ? t(why(s)) : "",
          },
          h(
            "span",
            { class: "bar" },
            h("small", {}, masked ? t("masked") : formatPercent(share)),
            h("i", { style: `--share: ${share}` }),
          ),
          word(cross.keys[s], "source"),
        );
      }),
    );

    const chosen = run.steps[step];
    const offered = chosen.candidates.filter(({ token }, i) => i < MAX_CANDIDATES || token === chosen.token);
    replaceKeepingFocus(
      candidates,
      offered.map((each) => candidate(each, each.token === chosen.token, () => force(each.token))),
    );
    const known = `limits.${models()[run.checkpoint]?.corpus ?? run.checkpoint}`;
    limits.textContent = hasText(known) ? t(known) : "";
    say.replaceChildren(...sentence(layer, look, who));
  });
}

/** What if it had said this word here? What it says by itself is not forced. */
function force(token) {
  const { run, step } = state;
  const at = { do: "force_word", step };
  replaceChange(at, token === run.steps[step].candidates[0].token ? null : { ...at, word: token });
}

/** A word that could come next, and whether it is the one that was said; with `choose`, it can be made to. */
export const candidate = ({ token, probability }, said, choose) =>
  h(
    "li",
    { class: said ? "chosen" : "", "data-probability": probability },
    choose
      ? h(
          "button",
          {
            type: "button",
            title: t("translate.force"),
            "aria-label": t("translate.force_word", { word: token }),
            onclick: choose,
          },
          word(token, "target"),
        )
      : word(token, "target"),
    h("i", { style: `--share: ${probability}` }),
    h("small", {}, formatPercent(probability)),
  );

const card = ({ token, probability }, i) =>
  h(
    "li",
    {},
    h(
      "button",
      { type: "button", onclick: () => update({ step: i }) },
      h("small", {}, t("step_n", { step: i + 1 })),
      word(token, "target"),
      h("small", {}, formatPercent(probability)),
    ),
  );
const pair = (name, control) => h("span", { class: "pair" }, name, control);

/** The picture read aloud. */
function sentence(layer, look, who) {
  const { run, step, averaged } = state;
  const { keys, heads } = run.attention.cross;
  const key = argmax(look);
  const { token, probability, candidates } = run.steps[step];
  const forced = findChange({ do: "force_word", step }, run.changes);
  const open = run.attention.cross.allowed[step].filter(Boolean).length;
  const even = (share) => share - 1 / open < UNIFORM_MARGIN;
  const places = {
    step: step + 1,
    steps: run.steps.length,
    before: word(run.decoder_input.slice(0, step + 1).join(" "), "target"),
    token: word(token, "target"),
    share: formatPercent(probability),
    own: word(candidates[0].token, "target"),
    own_share: formatPercent(candidates[0].probability),
  };
  const said = nodes(forced ? "translate.forced" : token === "E" ? "translate.says_end" : "translate.says", places);
  const where = {
    word: word(keys[key], "source"),
    count: open,
    share: formatPercent(look[key]),
    layer: layer + 1,
    who,
  };
  if (open === 0) return joinSentences(said, nodes("translate.nothing", where));
  if (open === 1) return joinSentences(said, nodes("translate.only", where));
  const attends = even(look[key]) ? "translate.evenly" : "translate.mostly";
  if (!averaged || heads === 1) return joinSentences(said, nodes(attends, where));
  const largest = Array.from({ length: heads }, (_, head) => Math.max(...attentionRow("cross", layer, head, step)));
  const best = argmax(largest);
  if (even(largest[best])) return joinSentences(said, nodes(attends, where));
  const on = word(keys[argmax(attentionRow("cross", layer, best, step))], "source");
  const alone = { head: best + 1, alone: formatPercent(largest[best]), on };
  return joinSentences(said, nodes(`${attends}_alone`, { ...where, ...alone }));
}
