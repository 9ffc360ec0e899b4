// Browsers refuse workers in pages that are opened from the disk, and the site's search is one. There a hidden frame takes its place:
// the script runs in it, and messages go in and out as a worker's do.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const script = document.createElement("script");
      script.src = new URL(address, document.baseURI).href;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = script.outerHTML;
      this.ready = new Promise((done) => {
        this.frame.onload = () => {
          this.frame.contentWindow.postMessage = (data) => this.deliver(this, data);
          done();
        };
      });
      document.body.appendChild(this.frame);
    }

    deliver(target, data) {
      const event = new MessageEvent("message", { data });
      target.dispatchEvent(event);
      if (target === this && this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.ready.then(() => this.deliver(this.frame.contentWindow, data));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
