// Share: a link to what is seen. A visitor's own model is nobody else's until it is shared, by a token or a file.

import { api, reasonOf } from "../../api/client.ts";
import { isOwn, isShared, modelName, ownModels, tokenAddress } from "../../api/models.ts";
import { opening } from "../../api/schema.ts";
import { isPresenting, pageAddress, sharedAddress } from "../../state/address.ts";
import { formatMessage, t } from "../../state/i18n.ts";
import { state } from "../../state/state.ts";
import { h, twoFrames } from "../../ui/dom.ts";
import { downloadModel } from "../../ui/export.ts";
import { link, startButton } from "../../ui/parts.ts";

const tokens: Map<string, string> = new Map();

/** Copies the link to what is seen; the same for a presenter, without the controls that a lesson does not need. */
export function shareEntry() {
  const address = h("input", { readonly: true, "aria-label": t("share.link"), onfocus: () => address.select() });
  const status = h("p", { role: "status" });
  const say = (text: string) => status.replaceChildren(text);
  const own = ownModelChoices(say, () => copy(isPresenting()));
  const presenter = link(t("share.presenter"), () => copy(true), { id: "share-presenter" });
  const about = h("p", {}, presenter, " ", t("share.presenter_about"));
  const start = startButton("share-class");
  const ofClass = start && h("p", {}, start, " ", t("class.start.about"));
  const panel = h("div", { class: "unfolded" }, status, own, address, about, ofClass);

  async function copy(presenting: boolean) {
    const { checkpoint } = state.run;
    const isPrivate = isOwn(checkpoint) && !isShared(checkpoint) && !tokens.has(checkpoint);
    own.hidden = !isPrivate;
    for (const each of [address, about]) each.hidden = isPrivate;
    if (isPrivate) return say(t("share.own", { name: modelName(checkpoint) }));
    address.value = linkOf(presenting);
    try {
      await navigator.clipboard.writeText(address.value);
      const key = tokens.has(checkpoint) ? "share.copied_own" : "share.copied";
      say(t(presenting ? "share.copied_presenter" : key));
    } catch {
      say(t("share.copy_it")); // a page without that right: the visitor copies it
      await twoFrames(); // until it is unfolded
      address.select();
    }
  }

  const summary = h("summary", { class: "entry", id: "share" }, t("share"));
  const element = h("details", { class: "share" }, summary, panel);
  summary.addEventListener("click", () => element.open || copy(isPresenting())); // Safari: at the click or never
  return element;
}

function linkOf(presenting: boolean) {
  const url = new URL(pageAddress(presenting));
  const token = tokens.get(state.run.checkpoint);
  if (token) url.searchParams.set("checkpoint", tokenAddress(token));
  return sharedAddress(url.href, window.parent === window ? null : opening.space_host);
}

function ownModelChoices(say: (text: string) => void, copyLink: () => void) {
  async function shareModel() {
    const { checkpoint } = state.run;
    try {
      tokens.set(checkpoint, (await api.share_model({ checkpoint })).checkpoint);
      copyLink();
    } catch (error) {
      say(formatMessage(reasonOf(error)));
    }
  }
  function saveModel() {
    const model = ownModels().find(({ checkpoint }) => checkpoint === state.run.checkpoint);
    if (model) downloadModel(model, say);
  }
  const ways = [
    h("p", {}, link(t("share.own_link"), shareModel, { id: "share-model" }), " ", t("share.own_link_about")),
    h("p", {}, link(t("share.own_file"), saveModel, { id: "share-file" }), " ", t("share.own_file_about")),
  ];
  return h("div", { id: "share-own" }, ways);
}
