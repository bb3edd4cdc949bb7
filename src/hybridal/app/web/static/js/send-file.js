/** Uploads a form with a file and shows the progress in the form. */
import { ApiError, upload } from "./api.js";
import { t } from "./i18n.js";

/**
 * @param {HTMLFormElement} form with a `progress` element and one file input, whose `data-largest` is the limit in bytes
 * @param {string} path
 * @param {FormData} [body]
 * @param {(share: number) => unknown} [onProgress]
 * @returns {Promise<object>} the answer
 */
export async function sendFile(form, path, body = new FormData(form), onProgress = () => {}) {
  const { file } = form.elements;
  const limit = Number(file.dataset.largest);
  // Check here first: the server would close the connection during the upload, and its error would be lost.
  if ([...file.files].some(({ size }) => size > limit))
    throw new ApiError(413, t("The file is too large; the limit is {size} MB.", { size: limit / 1e6 }));
  const bar = form.querySelector("progress");
  try {
    return await upload(path, body, (sent) => {
      bar.hidden = sent === 1; // the server now processes the file and reports no progress
      bar.value = sent;
      onProgress(sent);
    });
  } finally {
    bar.hidden = true;
  }
}
