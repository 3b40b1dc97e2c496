// PyTorch's random numbers on a CPU, so that a seed permutes and draws here what it does there: the Mersenne Twister
// (mt19937), and what torch.randperm and torch.multinomial make of it.

import { argmax, range } from "./arrays.ts";

const SIZE = 624;

export class Generator {
  private state = new Uint32Array(SIZE);
  private next = SIZE;

  constructor(seed: number) {
    this.state[0] = seed; // its lowest 32 bits
    for (let i = 1; i < SIZE; i++) {
      const last = this.state[i - 1] ^ (this.state[i - 1] >>> 30);
      this.state[i] = Math.imul(1812433253, last) + i;
    }
  }

  /** 32 random bits. */
  random() {
    if (this.next === SIZE) this.twist();
    let y = this.state[this.next++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  /** From 0 to 1, with the 53 lowest of 64 random bits. */
  uniform() {
    const high = this.random() % 2 ** 21;
    return (high * 2 ** 32 + this.random()) / 2 ** 53;
  }

  private twist() {
    const { state } = this;
    for (let i = 0; i < SIZE; i++) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
      state[i] = state[(i + 397) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.next = 0;
  }
}

/** torch.randperm */
export function permutation(length: number, seed: number) {
  const generator = new Generator(seed);
  const order = range(length);
  for (let i = 0; i < length - 1; i++) {
    const other = i + (generator.random() % (length - i));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/** torch.multinomial of one index: the highest of the probabilities, each divided by an exponential random number. */
export function draw(distribution: Float64Array, generator: Generator) {
  return argmax(distribution.map((probability) => probability / -Math.log1p(-generator.uniform())));
}
