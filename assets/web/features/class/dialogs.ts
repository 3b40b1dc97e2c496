// The dialogs of a class: how to get in, large enough for the back row, and what it has answered.

import { revealedQuestions, room } from "../../api/room.ts";
import type { Child } from "../../api/types.ts";
import { t } from "../../state/i18n.ts";
import { summaryCsv, summaryTable } from "../../ui/class-answers.ts";
import { h } from "../../ui/dom.ts";
import { download } from "../../ui/export.ts";
import { button } from "../../ui/parts.ts";

const COMMAND = "GRADIO_SERVER_NAME=0.0.0.0 make demo";

/** Show a dialog, beside the panel, which is drawn again when a student comes. */
function showDialog(name: string, ...children: Child[]) {
  const close = button("round", "✕", () => element.close(), { "aria-label": t("close") });
  const element = h("dialog", { class: name }, h("div", { class: "dialog-close" }, close), children);
  element.addEventListener("close", () => element.remove());
  document.querySelector("#class .view")?.append(element);
  element.showModal();
}

export function showAddress() {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname) && !room.address;
  const ownAddress = new URL(`?room=${room.code}`, document.baseURI).href; // of a page that did not open the room
  const address = room.address ?? ownAddress;
  const picture = room.qr && h("img", { id: "room-qr", src: room.qr, alt: t("room.qr", { address }) });
  const teacher = new URL(address);
  teacher.hash = room.secret;
  const notes = new URL(teacher);
  notes.searchParams.set("notes", "yes");
  const hint = isLocal
    ? h("div", { class: "room-local" }, h("p", {}, t("room.local")), h("pre", {}, COMMAND))
    : h("p", { class: "room-link" }, address);
  const field = (label: string, id: string, value: string) =>
    h("label", {}, label, h("input", { readonly: true, id, value }));
  const links = h("details", {}, [
    h("summary", {}, t("room.teacher_links")),
    field(t("room.teacher_link"), "room-teacher-link", teacher.href),
    field(t("room.notes_link"), "room-notes-link", notes.href),
  ]);
  const code = h("p", { class: "room-letters" }, room.code);
  const words = h("div", { class: "room-way" }, isLocal ? null : h("p", {}, t("room.enter")), code, hint, links);
  showDialog("room-dialog", h("div", { class: "room-columns" }, picture, words));
}

export function showSummary() {
  const questions = revealedQuestions();
  const save = () => download(new Blob([summaryCsv(questions)], { type: "text/csv" }), `class-${room.code}.csv`);
  const body = questions.length
    ? [summaryTable(questions), button("pill", t("room.summary.csv"), save, { id: "room-csv" })]
    : [h("p", { class: "hint" }, t("room.summary.none"))];
  showDialog("room-summary-dialog", h("h2", {}, t("room.summary")), body);
}
