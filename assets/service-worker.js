// Keeps the page for later visits, also without a network. All files but the page itself are in a folder of their
// version, so that a visit never has files of two versions: a new one is fetched beside the old, and used from the next
// visit on. transformer/web/site.py puts VERSION and FILES before these lines.

const OWN = `attention-bitte ${registration.scope} `; // of all caches of this origin, on which other sites may be
const CACHE = OWN + VERSION;

self.addEventListener("install", (event) => {
  const files = FILES.map((file) => new Request(file, { cache: "no-cache" })); // the browser's own may be of the old one
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files)));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(OWN) && name !== CACHE;
  const forget = async () => Promise.all((await caches.keys()).filter(isOld).map((name) => caches.delete(name)));
  event.waitUntil(forget().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const ignoreSearch = event.request.mode === "navigate"; // a place's parameters are read by the page
  const kept = ignoreSearch ? event.request.url.replace(/\/index\.html(?=[?#]|$)/, "/") : event.request;
  const own = async () => (await caches.open(CACHE)).match(kept, { ignoreSearch });
  const answer = async () => (await own()) ?? fetch(event.request);
  event.respondWith(answer());
});
