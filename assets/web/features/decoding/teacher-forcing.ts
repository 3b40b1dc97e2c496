// Teacher forcing beside free running: what the model outputs when it reads the right words, and when it reads its own.

import type { TeacherForcing } from "#schema";
import { comparisonTable } from "../../charts/outputs.ts";
import { joinSentences, nodes, t } from "../../state/i18n.ts";
import { baselineRun, possibleMistakes, state, update } from "../../state/state.ts";
import { experimentLink } from "../../ui/describe.ts";
import { h, scrollBox, word } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { changeDetector, option } from "../../ui/parts.ts";
import { tokensAsText } from "./beam-search.ts";
import type { Strategy } from "./decoding.ts";
import { setting } from "./settings.ts";

export function teacherForcing(): Strategy {
  const chooseStep = () => {
    const at = Number(step.value);
    update({ forcedMistake: step.value === "" ? null : { step: at, word: possibleMistakes(at)[0] } });
  };
  const chooseWord = () =>
    state.forcedMistake && update({ forcedMistake: { ...state.forcedMistake, word: mistake.value } });
  const step = h("select", { onchange: chooseStep });
  const mistake = h("select", { onchange: chooseWord });
  const place = scrollBox();
  const hint = h("p", { class: "hint" });
  const isNew = changeDetector();
  return {
    asks: "forced",
    controls: [setting("mistake", step, step), setting("word", mistake, mistake)],
    figure: [pictureFrame(place, () => "teacher-forcing"), hint],
    question: () => ({ mistake: state.forcedMistake }),
    drawControls() {
      const { forcedMistake } = state;
      const run = baselineRun();
      const words = forcedMistake ? possibleMistakes(forcedMistake.step) : [];
      if (isNew(run, words.join(" "))) {
        const steps = [...run.output.entries()].filter(([i]) => possibleMistakes(i).length);
        const stepOptions = steps.map(([i, token]) => option()([i, `${i + 1}: ${token}`]));
        step.replaceChildren(option()(["", t("decoding.no_mistake")]), ...stepOptions);
        mistake.replaceChildren(...(words.length ? words : ["–"]).map((token) => option()([token, token])));
      }
      step.value = String(forcedMistake?.step ?? "");
      mistake.value = forcedMistake?.word ?? "–";
      mistake.disabled = !forcedMistake;
    },
    draw(comparison: TeacherForcing) {
      place.replaceChildren(comparisonTable(comparison));
      hint.textContent = t(comparison.reference ? "decoding.wanted" : "decoding.unknown");
    },
    describe: describeComparison,
  };
}

function describeComparison({ teacher, free, right, of, mistake: forcedAt }: TeacherForcing) {
  const wrong = teacher.findIndex((step) => step.output !== step.wanted);
  const places = { right: right.teacher, free: right.free, of, text: tokensAsText(free.map(({ output }) => output)) };
  if (forcedAt === null && wrong < 0)
    return joinSentences(nodes("decoding.forced.say_right", places), experimentLink("forced"));
  const step = forcedAt ?? wrong;
  const { output, wanted } = teacher[step];
  return nodes(forcedAt === null ? "decoding.forced.say_mistake" : "decoding.forced.say_forced", {
    ...places,
    step: step + 1,
    word: word(output, "target"),
    wanted: word(wanted ?? "", "target"),
  });
}
