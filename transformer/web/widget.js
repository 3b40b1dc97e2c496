// Joins the page in an output's frame to its model in the kernel: see widget.py. The page calls when it is there, and
// gets a port, for the place both ways and for what it asks. The frame's sandbox leaves it nothing else of the notebook.

const CALL = "attention-bitte";
const LOST = { key: "error.no_kernel", values: {}, english: "" }; // since it started again it does not know the model

const places = new Set([document]); // where frames may be: a view's place may be hidden from the document

function initialize({ model, signal }) {
  const ports = new Map(); // by frame
  const tell = (message) => ports.forEach((port) => void port.postMessage(message));
  const frames = () =>
    [...places].flatMap((place) => [...place.querySelectorAll(`iframe[name="${model.get("frame")}"]`)]);

  const connect = (frame) => {
    const { port1, port2 } = new MessageChannel();
    ports.get(frame)?.close(); // the page was loaded again
    ports.set(frame, port1);
    port1.onmessage = ({ data }) => {
      if (data.place) {
        model.set("place", data.place);
        return model.save_changes();
      }
      try {
        model.send(data);
      } catch {
        port1.postMessage({ id: data.id, answer: JSON.stringify({ error: LOST }) });
      }
    };
    const { place, questions } = { place: model.get("place"), questions: model.get("questions") };
    frame.contentWindow.postMessage({ call: CALL, place, questions }, "*", [port2]);
  };

  model.on("change:place", () => tell({ place: model.get("place") }));
  model.on("msg:custom", (message) => message.answer && tell(message));
  addEventListener(
    "message",
    ({ source, data }) => {
      const frame = data?.call === CALL && frames().find(({ contentWindow }) => contentWindow === source);
      if (frame) connect(frame);
    },
    { signal },
  );
  frames().forEach(connect); // those that have called before
}

/** Where the figure is not an output of its own. */
function render({ model, el, signal }) {
  places.add(el);
  signal?.addEventListener("abort", () => places.delete(el));
  model.on("msg:custom", ({ figure }) => {
    if (figure && !el.firstChild) el.innerHTML = figure;
  });
  model.send({ figure: true });
}

export default { initialize, render };
