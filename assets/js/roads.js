// Other roads of decoding: beam search, sampling, teacher forcing.

export function mount() {}
