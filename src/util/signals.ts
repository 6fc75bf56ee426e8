/** Waiting to be told to stop. */

/** Resolves with the first SIGINT or SIGTERM. A second one ends the process at once, as without a handler. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM'] as const
    const settle = (signal: NodeJS.Signals) => {
      for (const name of signals) process.off(name, settle)
      resolve(signal)
    }
    for (const name of signals) process.on(name, settle)
  })
}
