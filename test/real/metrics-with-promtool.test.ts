/** promtool of Prometheus checks the alerts that `kopf manifests` prints, and the metrics of a running operator. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensurePromtool } from '../../tools/promtool/promtool.ts'
import { scrape } from '../metrics/metrics-support.ts'
import { alerts, serveEverything } from '../metrics/monitored-operator.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab({ hasSockets: true })
let program: string
let folder: string

beforeAll(async () => {
  program = await ensurePromtool()
  folder = await mkdtemp(join(tmpdir(), 'kopf-promtool-'))
}, 1_800_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

interface Result {
  readonly code: number
  readonly output: string
}

async function promtool(args: readonly string[], input: string = ''): Promise<Result> {
  const running = promisify(execFile)(program, args)
  running.child.stdin!.end(input)
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  )
}

test('promtool accepts the alerts', async () => {
  const file = join(folder, 'rules.json')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'operator', rules: alerts }] }))
  expect(await promtool(['check', 'rules', '--lint-fatal', file])).toEqual({
    code: 0,
    output: expect.stringContaining(`SUCCESS: ${alerts.length} rules found`),
  })
})

test('promtool refuses a broken rule, so that the test above can fail', async () => {
  const file = join(folder, 'broken.json')
  const rules = [{ alert: 'Broken', expr: 'sum by (' }]
  await writeFile(file, JSON.stringify({ groups: [{ name: 'operator', rules }] }))
  expect(await promtool(['check', 'rules', file])).toMatchObject({ code: 1 })
})

/** Series with their values by the minute, in the notation of promtool: `0+10x60` is 0, 10, 20 and so on, 60 times. */
type Input = Readonly<Record<string, string>>

const call = 'kopf_handler_calls_total{resource="widgets",handler="create"'

const situations: ReadonlyArray<readonly [situation: string, input: Input, firing: readonly string[]]> = [
  ['nothing is wrong', {}, []],
  ['a pod cannot be scraped', { 'up{pod="b"}': '0x60' }, ['OperatorNotScraped']],
  ['no pod is known', { 'up{pod="a"}': '_x60' }, ['OperatorNotScraped']],
  ['a watch is silent', { 'kopf_watch_silence_seconds{resource="widgets"}': '400x60' }, ['OperatorStreamSilent']],
  ['a watch has its bookmarks', { 'kopf_watch_silence_seconds{resource="widgets"}': '60x60' }, []],
  ['a queue grows', { 'workqueue_depth{controller="widgets",priority="0"}': '10+10x60' }, ['OperatorQueueGrowing']],
  ['a queue is long but does not grow', { 'workqueue_depth{controller="widgets",priority="0"}': '100x60' }, []],
  [
    'a queue of a replica that is not the leader grows',
    {
      'workqueue_depth{pod="b",controller="widgets",priority="0"}': '10+10x60',
      'leader_election_master_status{pod="b",name="x"}': '0x60',
    },
    [],
  ],
  ['a handler fails', { [`${call},type="create",outcome="failed"}`]: '0x50 1x10' }, ['OperatorHandlersFailing']],
  ['a request is denied', { [`${call},type="validate",outcome="failed"}`]: '0x50 1x10' }, []],
  [
    'a handler is retried most of the time',
    {
      [`${call},type="create",outcome="retrying"}`]: '0+10x60',
      [`${call},type="create",outcome="succeeded"}`]: '0+1x60',
    },
    ['OperatorHandlersRetrying'],
  ],
  [
    'a handler is retried now and then',
    {
      [`${call},type="create",outcome="retrying"}`]: '0+1x60',
      [`${call},type="create",outcome="succeeded"}`]: '0+10x60',
    },
    [],
  ],
  ['the leader is lost', { 'leader_election_master_status{pod="a",name="x"}': '1x50 0x10' }, ['OperatorLeaderLost']],
  [
    'most requests are denied',
    {
      'kopf_admission_denials_total{handler="guard"}': '0+6x60',
      'controller_runtime_webhook_requests_total{webhook="guard",code="200"}': '0+10x60',
    },
    ['OperatorWebhookDenials'],
  ],
  ['the event loop is blocked', { 'nodejs_eventloop_lag_seconds{pod="a"}': '2x60' }, ['OperatorEventLoopLag']],
]

/** Adds the labels that Prometheus gives to all series of a target. */
function inTarget(series: string): string {
  const pod = series.includes('pod=') ? '' : 'pod="a",'
  return series.replace('{', `{job="monitored-metrics",namespace="ops",${pod}`)
}

test('the alerts fire in the situations that they are for, and in no other one', async () => {
  await writeFile(join(folder, 'tested-rules.json'), JSON.stringify({ groups: [{ name: 'operator', rules: alerts }] }))
  const healthy: Input = { 'up{pod="a"}': '1x60', 'leader_election_master_status{pod="a",name="x"}': '1x60' }
  const tests = situations.map(([name, input, firing]) => ({
    name,
    interval: '1m',
    input_series: Object.entries({ ...healthy, ...input }).map(([series, values]) => ({
      series: inTarget(series),
      values,
    })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '59m',
        exp_samples: firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  }))
  const file = join(folder, 'tests.json')
  await writeFile(file, JSON.stringify({ rule_files: ['tested-rules.json'], evaluation_interval: '1m', tests }))
  const { code, output } = await promtool(['test', 'rules', file])
  expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')])
})

test('every alert has a situation in which it fires', () => {
  const fired = new Set(situations.flatMap(([, , firing]) => firing))
  expect(alerts.filter(({ alert }) => !fired.has(alert))).toEqual([])
})

test('promtool accepts the metrics of a running operator', { timeout: 60_000 }, async () => {
  const { text } = await scrape(await serveEverything(lab))
  expect(text).toContain('kopf_build_info')
  expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
  const broken = await promtool(['check', 'metrics'], `${text}kopf_calls{ 1\n`)
  expect([broken.code, broken.output]).toEqual([1, expect.stringContaining('error while linting')])
})
