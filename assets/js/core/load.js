// Runs in the page's head, before any module. All modules come in one answer; each becomes a module of the browser when
// it is first imported, at an address of its own.
{
  /** @type {Promise<Record<string, string>>} */
  const sources = fetch(new URL("modules", document.baseURI)).then((answer) => answer.json());
  sources.catch(() => {}); // said where a module is wanted
  /** @type {Record<string, string>} */
  const addresses = {};
  const IMPORT = /^((?:import|\}).* from )"(\.[\w./-]+)";$/gm; // types are imported in comments

  /** @param {Record<string, string>} all @param {string} name @returns {string} */
  const addressOf = (all, name) => {
    const linked = (/** @type {string} */ _, /** @type {string} */ start, /** @type {string} */ path) =>
      `${start}"${addressOf(all, new URL(path, `file:///${name}`).pathname.slice(1))}";`;
    const source = () => [all[name].replace(IMPORT, linked), `//# sourceURL=${document.baseURI}js/${name}\n`];
    addresses[name] ??= URL.createObjectURL(new Blob(source(), { type: "text/javascript" }));
    return addresses[name];
  };

  window.moduleAddress = async (name) => addressOf(await sources, name);
}
