/** An operator with every type of handler that has series of its own, and the series that it serves. Shared by the tests of rules and of the dashboard. */
import { randomBytes } from 'node:crypto'
import { AdmissionError, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { type Alert, listAlerts } from '../../src/cli/deployment/observability/alerts.ts'
import { createGrafanaDashboard } from '../../src/cli/deployment/observability/grafana.ts'
import type { DeploymentPlan } from '../../src/cli/deployment/plan.ts'
import { untilHandled } from '../support/handled.ts'
import type { Lab } from '../support/lab.ts'
import { metricsAddressIn, scrape } from './metrics-support.ts'

const fullPlan = { name: 'monitored', isElected: true, hasWebhooks: true } as DeploymentPlan

export const alerts: readonly Alert[] = listAlerts(fullPlan)

interface PanelOfJson {
  readonly title: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const { panels } = createGrafanaDashboard(fullPlan) as { readonly panels: readonly PanelOfJson[] }

/** The expressions of all rules and panels, with the name of the rule or panel. */
export const expressions: ReadonlyArray<readonly [name: string, expr: string]> = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
]

/** Starts the operator, lets it handle objects and deny one, and returns the text of its metrics. */
export async function serveEverything(lab: Lab): Promise<URL> {
  const managed = `m${randomBytes(4).toString('hex')}.kopf.dev`
  const kopf = new Operator({
    name: `monitored-${lab.namespace}`,
    settings: {
      metrics: { address: '127.0.0.1:0' },
      election: { enabled: true, namespace: lab.namespace },
      admission: { server: new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' }), managed },
    },
  })
  kopf.on.create(lab.widgets, { id: 'create' }, () => {})
  kopf.on.event(lab.widgets, { id: 'event' }, () => {})
  kopf.timer(lab.widgets, { id: 'tick', interval: 0.1 }, () => {})
  kopf.daemon(lab.widgets, { id: 'daemon' }, async ({ stopped }) => stopped.wait())
  kopf.reconcile(lab.widgets, { id: 'config', owns: ['configmaps'] }, ({ name }) => ({
    children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-config` }, data: { a: 'b' } }],
  }))
  kopf.on.validate(lab.widgets, { id: 'guard' }, ({ spec }) => {
    if (spec['size'] === 'too large') throw new AdmissionError('Too large')
  })
  await lab.start(kopf)
  await lab.create('first', { spec: { size: 1 } })
  await lab.create('second', { spec: { size: 'too large' } }).catch(() => {})
  await untilHandled(lab, 'first')
  return metricsAddressIn(lab.logs)
}

export interface ServedSeries {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
}

/** The series of an exposition in the text format. */
export async function readSeries(url: URL): Promise<ServedSeries[]> {
  const { text } = await scrape(url)
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? []
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key!, value!] as const)
      return { name, labels: new Map(pairs) }
    })
}
