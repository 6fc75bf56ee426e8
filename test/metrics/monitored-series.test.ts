/** Every series that the alerts and the Grafana dashboard use is one that a running operator serves, with the labels that they use. */
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { alerts, expressions, readSeries, type ServedSeries, serveEverything } from './monitored-operator.ts'

const lab = useLab({ hasSockets: true })
let served: readonly ServedSeries[] = []

beforeAll(async () => {
  served = await readSeries(await serveEverything(lab))
})

/** Labels that Prometheus adds to all series of a target. */
const targetLabels = new Set(['job', 'namespace', 'pod', 'instance'])

interface Selector {
  readonly series: string
  readonly labels: ReadonlyArray<readonly [label: string, operator: string, value: string]>
}

/** All selectors of an expression, without `up`, which Prometheus itself records. */
function selectorsOf(expr: string): Selector[] {
  return [...expr.matchAll(/([a-zA-Z_:][\w:]*)\{([^}]*)\}/g)]
    .map(([, series = '', inner = '']) => ({
      series,
      labels: [...inner.matchAll(/(\w+)(=~|!~|=)"([^"]*)"/g)].map(([, a, b, c]) => [a!, b!, c!] as const),
    }))
    .filter(({ series }) => series !== 'up')
}

function isSelected({ name, labels }: ServedSeries, selector: Selector): boolean {
  return (
    name === selector.series &&
    selector.labels
      .filter(([label]) => label !== 'job')
      .every(([label, operator, value]) =>
        operator === '='
          ? labels.get(label) === value
          : new RegExp(`^(?:${value})$`).test(labels.get(label) ?? '') === (operator === '=~'),
      )
  )
}

test('the rules and panels have expressions with selectors', () => {
  expect(expressions.length).toBeGreaterThan(40)
  expect(expressions.filter(([name, expr]) => name !== 'OperatorNotScraped' && selectorsOf(expr).length === 0)).toEqual(
    [],
  )
})

test.each(expressions)('%s uses series that an operator serves: %s', (_, expr) => {
  const missing = selectorsOf(expr).filter((selector) => !served.some((one) => isSelected(one, selector)))
  expect(missing).toEqual([])
})

test.each(expressions)('%s groups by labels that its series have: %s', (_, expr) => {
  const names = new Set(selectorsOf(expr).map(({ series }) => series))
  const known = new Set(served.filter(({ name }) => names.has(name)).flatMap(({ labels }) => [...labels.keys()]))
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', '))
  expect(grouped.filter((label) => !known.has(label) && !targetLabels.has(label))).toEqual([])
})

test('the page "Metrics" says for each alert what to do', () => {
  const page = readFileSync('docs/operate/metrics.md', 'utf8')
  expect(alerts.filter(({ alert }) => !page.includes(`### ${alert}\n`)).map(({ alert }) => alert)).toEqual([])
})
