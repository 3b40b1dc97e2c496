// What if: parts of the network taken away, beside the unbroken run.

export function mount() {}
