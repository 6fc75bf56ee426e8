/** The series of the operator as Markdown tables, from the metrics that an operator with metrics creates. */
import { startOperatorMetrics } from '../../src/metrics/operator/operator-metrics.ts'
import { MetricsRegistry } from '../../src/metrics/registry.ts'
import { createSettings } from '../../src/settings/settings.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import { toTable } from './markdown.ts'

/** The tables by the beginning of the names. */
const groups: Readonly<Record<string, RegExp>> = {
  'metrics of controller-runtime': /^(controller_runtime|workqueue|leader_election)_/,
  'metrics of client-go': /^rest_client_/,
  'metrics of kopf': /^kopf_/,
  'metrics of the process': /^(process|nodejs)_/,
}

export function describeMetrics(): Readonly<Record<string, string>> {
  const registry = new MetricsRegistry()
  startOperatorMetrics({
    registry,
    clock: systemClock,
    settings: createSettings(),
    handlers: { handlers: [], webhookHandlers: [] },
    name: undefined,
    listen: () => {},
    objects: () => [],
    isCandidate: () => false,
  }).stop()
  return Object.fromEntries(
    Object.entries(groups).map(([group, pattern]) => {
      const metrics = registry.definitions.filter(({ name }) => pattern.test(name))
      const rows = metrics.map(({ name, type, labelNames, help, buckets }) => [
        `\`${name}\``,
        type,
        labelNames.map((label) => `\`${label}\``).join(' '),
        `${help.replace(/\.$/, '')}${buckets === undefined ? '' : `. ${buckets.length} buckets, ${buckets[0]} to ${buckets.at(-1)}`}`,
      ])
      return [group, toTable(['metric', 'type', 'labels', 'meaning'], rows)]
    }),
  )
}
