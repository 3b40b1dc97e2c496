// Bytes as they travel.

const CHUNK = 2 ** 14; // arguments of one call

export function encodeBytes(bytes: Uint8Array) {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

export function decodeBytes(base64: string) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Numbers of `size` bytes, of which the first bytes of all came first, then the second ones, …: see payload.py. */
export function joinPlanes(planes: Uint8Array, size: number) {
  const joined = new Uint8Array(planes.length);
  const count = planes.length / size;
  for (let plane = 0; plane < size; plane++)
    for (let i = 0; i < count; i++) joined[i * size + plane] = planes[plane * count + i];
  return joined;
}
