/** A handler for own-metrics.test.ts, which runs in a worker thread. */
export function count(args: object): void {
  const { metrics } = args as { readonly metrics: { counter(name: string, options: object): void } }
  metrics.counter('calls_total', { help: 'Calls.' })
}
