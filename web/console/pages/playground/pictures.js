// @ts-check
/** Pictures that go with a message: chosen, pasted or dropped. */

const kinds = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const enough = 2048; // pixels: providers make larger pictures smaller themselves
const largest = 4_500_000; // bytes: some providers refuse a picture beyond 5 MB

/** The most pictures of one message. */
export const most = 10;

/**
 * Reads a file. A picture that is too large for the providers is made smaller.
 * @param {File} file @returns {Promise<import("./conversation.js").Picture>}
 */
export async function picture(file) {
  const name = file.name || "Pasted picture";
  if (!kinds.includes(file.type)) throw new Error(`${name} is no picture that models take. Use PNG, JPEG, WebP or GIF.`);
  if (file.size <= largest) return { name, url: await dataURL(file) };
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${name} cannot be read.`);
  });
  const scale = Math.min(1, enough / Math.max(bitmap.width, bitmap.height));
  const canvas = Object.assign(document.createElement("canvas"), {
    width: Math.round(bitmap.width * scale),
    height: Math.round(bitmap.height * scale),
  });
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return { name: `${name}, made smaller: ${canvas.width} × ${canvas.height}`, url: canvas.toDataURL("image/jpeg", 0.85) };
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataURL(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(/** @type {string} */ (reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}

/**
 * Takes files that are dropped.
 * @param {HTMLElement} root @param {HTMLElement} marked shows where @param {(files: File[]) => void} add
 */
export function dropZone(root, marked, add) {
  const files = (e) => [...(e.dataTransfer?.items ?? [])].some((item) => item.kind === "file");
  root.addEventListener("dragover", (e) => {
    if (!files(e)) return;
    e.preventDefault();
    marked.classList.add("dropping");
  });
  root.addEventListener("dragleave", (e) => {
    if (!root.contains(/** @type {Node | null} */ (e.relatedTarget))) marked.classList.remove("dropping");
  });
  root.addEventListener("drop", (e) => {
    marked.classList.remove("dropping");
    if (!files(e)) return;
    e.preventDefault();
    add([...(e.dataTransfer?.files ?? [])]);
  });
}
