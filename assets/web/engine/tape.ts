// Derivatives by reverse accumulation.

type Pass = { output: Float32Array; input: Float32Array; derivative: (gradient: Float32Array) => Float32Array };

/** Every operation of a pass, and how it passes a gradient of its output on to its input. */
export class Tape {
  private readonly passes: Pass[] = [];

  pass(output: Float32Array, input: Float32Array, derivative: Pass["derivative"]) {
    this.passes.push({ output, input, derivative });
  }

  /** The gradient of each array, given that of the last one. */
  gradients(output: Float32Array, gradient: Float32Array) {
    const found = new Map([[output, gradient]]);
    for (const { output, input, derivative } of this.passes.toReversed()) {
      const ofOutput = found.get(output);
      if (!ofOutput) continue;
      const [before, more] = [found.get(input), derivative(ofOutput)];
      found.set(input, before ? before.map((each, i) => each + more[i]) : more);
    }
    return found;
  }
}
