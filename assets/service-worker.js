// Keeps the page for later visits, also without a network. All files but the page itself are in a folder of their
// version, so that a visit never has files of two versions: a new one is fetched beside the old, and used from the next
// visit on. transformer/web/site.py puts VERSION and FILES before these lines.

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith("attention-bitte-") && name !== VERSION;
  const forget = async () => Promise.all((await caches.keys()).filter(isOld).map((name) => caches.delete(name)));
  event.waitUntil(forget().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const ignoreSearch = event.request.mode === "navigate"; // a place's parameters are read by the page
  const kept = ignoreSearch ? event.request.url.replace(/\/index\.html(?=[?#]|$)/, "/") : event.request;
  const answer = async () => (await caches.match(kept, { ignoreSearch })) ?? fetch(event.request);
  event.respondWith(answer());
});
