// Browsers refuse workers on file:// pages, so run the search script in a hidden frame.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.ready = new Promise((resolve) => {
      const script = this.inside.document.createElement("script");
      script.onload = resolve;
      script.src = url;
      this.inside.document.body.append(script);
    });
  }

  async postMessage(data) {
    await this.ready;
    this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
