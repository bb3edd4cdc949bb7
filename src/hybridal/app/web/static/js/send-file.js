/** Send a form with a file, and show in the form how much of it has been sent. */
import { Refusal, upload } from "./api.js";

/**
 * @param {HTMLFormElement} form with a `progress` and one file input, which has the limit in `data-largest`
 * @param {string} path
 * @param {FormData} [body]
 * @returns {Promise<object>} the answer
 */
export async function sendFile(form, path, body = new FormData(form)) {
  const { file } = form.elements;
  const limit = Number(file.dataset.largest);
  // The server would close the connection while the file is being sent, and its reason would be lost.
  if ([...file.files].some(({ size }) => size > limit))
    throw new Refusal(413, `The file is too large; the limit is ${limit / 1e6} MB.`);
  const bar = form.querySelector("progress");
  try {
    return await upload(path, body, (sent) => {
      bar.hidden = sent === 1; // from then on the server reads it, which no bar measures
      bar.value = sent;
    });
  } finally {
    bar.hidden = true;
  }
}
