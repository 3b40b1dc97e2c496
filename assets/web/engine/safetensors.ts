// The weights of a checkpoint: https://github.com/huggingface/safetensors, all of them float32.

export type Weights = Record<string, Float32Array>;

type Header = Record<string, { data_offsets: [number, number] }>;

/** Weights by the names that probes have: "encoder.layers.0.self_attn.q_proj.weight" is under
 * "encoder.0.self_attention.q_proj.weight". */
export function readSafetensors(file: ArrayBuffer): Weights {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  const weights: Weights = {};
  for (const [name, { data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [begin, end] = data_offsets.map((offset) => 8 + length + offset);
    // A copy, because a view has to begin at a multiple of four bytes.
    weights[name.replace(".layers.", ".").replace("_attn.", "_attention.")] = new Float32Array(file.slice(begin, end));
  }
  return weights;
}
