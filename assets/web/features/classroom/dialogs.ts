// The dialogs of a class: how to get in, large enough for the back row, and what it has answered.

import { revealedQuestions, room } from "../../api/room.ts";
import { t } from "../../state/i18n.ts";
import { summaryCsv, summaryTable } from "../../ui/class-answers.ts";
import { h } from "../../ui/dom.ts";
import { download } from "../../ui/export.ts";
import { button } from "../../ui/parts.ts";

const COMMAND = "GRADIO_SERVER_NAME=0.0.0.0 make demo";

function dialog(parent: Element | null, name: string, ...children: import("../../api/types.ts").Child[]) {
  parent?.querySelector(`.${name}`)?.remove();
  const element = h("dialog", { class: name });
  const close = button("round", "✕", () => element.close(), { "aria-label": t("close") });
  element.append(h("div", { class: "dialog-close" }, close), ...children.flat().filter((each) => each instanceof Node));
  element.addEventListener("close", () => element.remove());
  parent?.append(element);
  return element;
}

/** The link of a room on this page's own address, for a page that did not open it. */
const ownAddress = () => new URL(`?room=${room.code}`, document.baseURI).href;

/** The code, the QR code and the address; or the reason why no other device can join. */
export function addressDialog(parent: Element | null) {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname) && !room.address;
  const address = room.address ?? ownAddress();
  const picture = room.qr && h("img", { id: "room-qr", src: room.qr, alt: t("room.qr", { address }) });
  const teacher = new URL(address);
  teacher.hash = room.secret;
  const notes = new URL(teacher);
  notes.searchParams.set("notes", "yes");
  const hint = isLocal
    ? h("div", { class: "room-local" }, h("p", {}, t("room.local")), h("pre", {}, COMMAND))
    : h("p", { class: "room-link" }, address);
  const links = h("details", {}, [
    h("summary", {}, t("room.teacher_links")),
    h(
      "label",
      {},
      t("room.teacher_link"),
      h("input", { readonly: true, id: "room-teacher-link", value: teacher.href }),
    ),
    h("label", {}, t("room.notes_link"), h("input", { readonly: true, id: "room-notes-link", value: notes.href })),
  ]);
  const words = h(
    "div",
    { class: "room-way" },
    h("p", {}, t("room.enter")),
    h("p", { class: "room-letters" }, room.code),
    hint,
    links,
  );
  return dialog(parent, "room-dialog", h("div", { class: "room-columns" }, picture, words));
}

/** Every question with its votes, to read and as a file. */
export function summaryDialog(parent: Element | null) {
  const questions = revealedQuestions();
  const save = () => download(new Blob([summaryCsv(questions)], { type: "text/csv" }), `class-${room.code}.csv`);
  const body = questions.length
    ? [summaryTable(questions), button("pill", t("room.summary.csv"), save, { id: "room-csv" })]
    : [h("p", { class: "hint" }, t("room.summary.none"))];
  return dialog(parent, "room-summary-dialog", h("h2", {}, t("room.summary")), ...body);
}
