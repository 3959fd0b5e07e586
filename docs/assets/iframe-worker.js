// Search from files: browsers start no Worker from file://, so an invisible frame does its work.
// Over HTTP the browser's own Worker stays.
(() => {
  if (location.protocol !== "file:") return;

  const page = (url) => `<script>
    const postMessage = (data) => parent.postMessage({ data }, "*");
    const importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = done;
      document.body.appendChild(script);
    })), Promise.resolve());
  </script><script src="${url}"></script>`;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame;
      frame.contentDocument.open();
      frame.contentDocument.write(page(url));
      frame.contentDocument.close();
      // Opening a document removes its listeners, so this one comes last.
      this.ready = new Promise((done) => frame.contentWindow.addEventListener("load", done));
      addEventListener("message", ({ source, data }) => {
        if (source !== frame.contentWindow) return;
        this.dispatchEvent(new MessageEvent("message", { data: data.data }));
      });
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
})();
