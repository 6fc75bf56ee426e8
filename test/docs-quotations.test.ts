/**
 * Compares what pages quote with what the code prints or does: YAML of `kopf manifests`, tables of permissions, defaults and limits. A limit in a
 * sentence is one row of the table `limits`: the sentence is made from the constant, and must be on the page.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adopt, defineResource, Operator } from 'kopf'
import { WebhookServiceServer } from 'kopf/webhooks'
import { describe, expect, test } from 'vitest'
import { listPages } from '../docs/.vitepress/pages.ts'
import { draft } from '../src/cli/deployment/draft.ts'
import { discoverForPlan } from '../src/cli/deployment/known-resources.ts'
import { render } from '../src/cli/deployment/render.ts'
import { toRules } from '../src/kube/rbac-rules.ts'
import { peeringRules } from '../src/rbac/required-rules.ts'
import { defaultLimits } from '../src/serving/endpoint.ts'
import { settingSpecs } from '../src/settings/schema.ts'
import { createSettings } from '../src/settings/settings.ts'
import { stoppingMs } from '../src/util/stopping-times.ts'
import { type Duration, toMs } from '../src/util/text/duration.ts'
import { parseYaml } from '../src/util/yaml.ts'

const read = (page: string) => readFileSync(join('docs', `${page}.md`), 'utf8')
const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })
const DatabaseV2 = defineResource({ group: 'example.com', version: 'v2', kind: 'Database' })
const nothing = () => {}

interface Printed {
  readonly kind: string
  readonly rules?: ReadonlyArray<{ readonly [part: string]: readonly string[] | undefined }>
}

/** The objects that `kopf manifests` prints for an operator. */
async function print(name: string, settings: object, register: (kopf: Operator) => void): Promise<Printed[]> {
  const kopf = new Operator({ name, settings })
  register(kopf)
  const { plan } = draft(kopf, {
    installNamespace: name,
    folder: '',
    scope: { clusterwide: true },
    peering: {},
    resources: await discoverForPlan(kopf, {}),
    grants: [],
    calls: { clear: [], unclear: [], unread: [] },
  })
  return parseYaml(render(kopf, plan, { installNamespace: name })) as Printed[]
}

/** The first YAML block of a page that contains a text, parsed. */
function blockOf(page: string, text: string): Record<string, unknown>[] {
  const blocks = [...read(page).matchAll(/^```yaml\n(.*?)^```/gms)].map(([, yaml]) => yaml!)
  const block = blocks.find((yaml) => yaml.includes(text))
  if (block === undefined) throw new Error(`The page ${page} has no YAML block with "${text}"`)
  return parseYaml(block) as Record<string, unknown>[]
}

/** The verbs of each resource in rules, from all rules together: `leases: create,get`. */
function verbsIn(rules: unknown): string[] {
  const verbs = new Map<string, Set<string>>()
  for (const rule of rules as Array<Record<string, readonly string[]>>) {
    for (const group of rule['apiGroups']!) {
      for (const resource of rule['resources']!) {
        const what = group === '' ? resource : `${resource}.${group}`
        const known = verbs.get(what) ?? new Set()
        verbs.set(what, known)
        for (const verb of rule['verbs']!) known.add(verb)
      }
    }
  }
  return [...verbs].map(([what, set]) => `${what}: ${[...set].sort().join(',')}`).sort()
}

const server = (service: string) => ({ server: new WebhookServiceServer({ service, port: 9443 }) })

describe('YAML that pages quote', () => {
  test('the Service in "Validate and mutate requests" is the one that kopf manifests prints', async () => {
    const admission = { ...server('my-operator'), managed: 'my-operator.example.com' }
    const printed = await print('my-operator', { admission }, (kopf) => kopf.on.validate('pods', nothing))
    const [shown] = blockOf('guide/admission', 'kind: Service')
    expect(printed.find(({ kind }) => kind === 'Service')).toEqual(shown)
  })

  test('the NetworkPolicy in "Deploying" is the one that kopf manifests prints', async () => {
    const admission = { ...server('databases'), managed: 'databases.example.com' }
    const printed = await print('databases', { admission }, (kopf) => kopf.on.validate('pods', nothing))
    const [shown] = blockOf('operate/deploying', '9443')
    expect(printed.find(({ kind }) => kind === 'NetworkPolicy')).toMatchObject({
      ...shown,
      metadata: { name: 'databases' },
    })
  })

  test('the permissions for webhooks in the pages are those that kopf manifests prints', async () => {
    const admission = { ...server('databases'), managed: 'databases.example.com' }
    const register = (kopf: Operator) => {
      kopf.on.validate('pods', nothing)
      kopf.on.mutate('pods', { id: 'default' }, nothing)
      kopf.on.convert(DatabaseV2, { from: Database, to: DatabaseV2 }, () => ({}))
    }
    const printed = await print('databases', { admission }, register)
    const needed = verbsIn(printed.flatMap(({ kind, rules = [] }) => (kind === 'ClusterRole' ? rules : []))).filter(
      (rule) => /webhookconfigurations|customresourcedefinitions/.test(rule),
    )
    const [guide] = blockOf('guide/admission', 'kind: ClusterRole')
    expect(verbsIn(guide!['rules'])).toEqual(needed)
    const [reference] = blockOf('reference/webhook-configurations', 'rules:')
    expect(verbsIn(reference!['rules'])).toEqual(needed.filter((rule) => !rule.startsWith('mutating')))
  })

  test('the permissions of the leader election are those that kopf manifests prints', async () => {
    const printed = await print('databases', { election: { enabled: true } }, (kopf) => kopf.on.event('pods', nothing))
    const role = printed.find(({ kind }) => kind === 'Role')
    const [shown] = blockOf('operate/replicas', 'leases')
    expect(shown!['rules']).toEqual(role!.rules!.filter(({ resources }) => resources?.includes('leases')))
  })

  test('the permissions of the peering are those of both kinds of peerings', () => {
    const rules = toRules([...peeringRules('databases', true), ...peeringRules('databases', false)])
    const shown = blockOf('operate/peering', 'clusterkopfpeerings')
    expect(verbsIn(shown[0])).toEqual(verbsIn(rules))
  })

  test('the adopted Deployment in "Owners and children" is the result of adopt', () => {
    const owner = {
      apiVersion: 'example.com/v1',
      kind: 'Database',
      metadata: {
        name: 'orders',
        namespace: 'default',
        uid: '0f6b1a3c-6a0e-4d0a-9d0e-7c3a0c4b5d6e',
        labels: { team: 'shop' },
      },
    }
    const template = { metadata: { labels: { app: 'database' } } }
    const child = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { template } }
    expect(blockOf('guide/hierarchies', 'generateName')[0]).toEqual(adopt(child, owner, { nested: 'spec.template' }))
  })
})

describe('the table of permissions in "Deploying"', () => {
  const cells = read('operate/deploying')
    .split('## Permissions')[1]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const verbsOf = (mark: string) => {
    const row = cells.find(([, what]) => what!.includes(mark))
    if (row === undefined) throw new Error(`The table has no row with "${mark}"`)
    return [...row[2]!.matchAll(/`(\w+)`/g)].map(([, verb]) => verb!).sort()
  }

  const options = { cleanup: true, owns: ['secrets'], watches: [['nodes', () => []]] }
  test.each<[string, string, (kopf: Operator) => void]>([
    ['resources of `on.event`', 'pods', (kopf) => kopf.on.event('pods', nothing)],
    ['resources of `on.event`', 'pods', (kopf) => void kopf.index('pods', () => [])],
    ['resources of other handlers', 'pods', (kopf) => kopf.on.create('pods', nothing)],
    ['resources of other handlers', 'pods', (kopf) => kopf.timer('pods', { interval: 1 }, nothing)],
    ['resources of other handlers', 'pods', (kopf) => kopf.reconcile('pods', nothing)],
    ['their `status`', 'pods/status', (kopf) => kopf.on.create('pods', nothing)],
    ['their `finalizers`', 'pods/finalizers', (kopf) => kopf.reconcile('pods', options as never, nothing)],
    ['resources in `owns`', 'secrets', (kopf) => kopf.reconcile('pods', options as never, nothing)],
    ['resources in `watches`', 'nodes', (kopf) => kopf.reconcile('pods', options as never, nothing)],
    ['`events`', 'events', (kopf) => kopf.on.create('pods', nothing)],
    [
      '`customresourcedefinitions`',
      'customresourcedefinitions.apiextensions.k8s.io',
      (kopf) => kopf.on.create(Database, nothing),
    ],
    ['the [peering]', 'clusterkopfpeerings.kopf.dev', (kopf) => kopf.on.create('pods', nothing)],
  ])('the row %s has the verbs for %s', async (mark, resource, register) => {
    const printed = await print('databases', {}, register)
    const rules = printed.flatMap(({ kind, rules: own = [] }) => (kind === 'ClusterRole' ? own : []))
    expect(verbsIn(rules)).toContain(`${resource}: ${verbsOf(mark).join(',')}`)
  })

  test('a resource with only admission handlers needs no permission', async () => {
    const admission = { ...server('databases'), managed: 'databases.example.com' }
    const printed = await print('databases', { admission }, (kopf) => kopf.on.validate('pods', nothing))
    const rules = printed.flatMap(({ kind, rules: own = [] }) => (kind === 'ClusterRole' ? own : []))
    expect(verbsIn(rules).filter((rule) => rule.startsWith('pods'))).toEqual([])
  })
})

/** `60` as `1 minute`, and `15` as `15 seconds`. */
const units: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 }

/** A quantity as pages write it, in seconds or as it is: `5 minutes`, `70 seconds`, `3 MiB`, `64`. */
function quantityOf(text: string): number | undefined {
  const [, digits, unit] = /^(\d[\d.,]*) ?(seconds?|minutes?|hours?|days?|KiB|MiB)?$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const factor = unit === 'MiB' ? 1024 ** 2 : unit === 'KiB' ? 1024 : (units[unit?.replace(/s$/, '') ?? ''] ?? 1)
  return Number(digits.replaceAll(',', '')) * factor
}

describe('settings in the pages', () => {
  const defaults = new Map<string, unknown>()
  const paths = new Set<string>()
  const settings = createSettings() as unknown as Record<string, Record<string, unknown>>
  for (const [group, specs] of Object.entries(settingSpecs)) {
    for (const name of Object.keys(specs)) {
      paths.add(`${group}.${name}`)
      defaults.set(`${group}.${name}`, settings[group]![name])
      // `connectTimeout` and `workerLimit` are in several groups.
      defaults.set(name, defaults.has(name) ? undefined : settings[group]![name])
    }
  }
  const groups = Object.keys(settingSpecs).join('|')
  const pages = ['README.md', ...listPages()].filter(
    (page) => !/decisions|source-files|from-kopf|CONTRIBUTING/.test(page),
  )

  test('every setting that a page names exists', () => {
    const unknown = pages.flatMap((page) =>
      [
        ...readFileSync(page, 'utf8').matchAll(
          new RegExp(`\`(?:kopf\\.)?settings\\.(\\w+)(?:\\.(\\w+))?|\`(${groups})\\.([a-z]+[A-Z]\\w+)`, 'g'),
        ),
      ]
        .map(([, group = '', name, otherGroup, otherName]) => `${otherGroup ?? group}.${otherName ?? name ?? ''}`)
        .filter((path) => !paths.has(path) && !(path.endsWith('.') && path.slice(0, -1) in settingSpecs))
        .map((path) => `${page}: ${path}`),
    )
    expect(unknown).toEqual([])
  })

  test('every default that a page states beside a setting is that of the code', () => {
    const quantity = '(\\d[\\d.,]*(?: (?:seconds?|minutes?|hours?|days?|KiB|MiB))?)'
    const inText = new RegExp(
      `\`(?:settings\\.)?((?:\\w+\\.)?\\w+)\`(?:\\]\\([^)]*\\))?(?: \\((?:default: )?|: )${quantity}(?: by default)?(?=[),.;|]| +\\|)`,
      'g',
    )
    const inTables = new RegExp(`^\\| \`((?:\\w+\\.)?\\w+)\` +\\| ${quantity} +\\|`, 'gm')
    const stated = pages.flatMap((page) =>
      [
        ...readFileSync(page, 'utf8').replaceAll('\n  ', ' ').matchAll(inText),
        ...readFileSync(page, 'utf8').matchAll(inTables),
      ]
        .filter(([, path]) => typeof defaults.get(path!) === 'number' || typeof defaults.get(path!) === 'string')
        .map(([, path, text]) => ({ page, path: path!, stated: quantityOf(text!), actual: defaults.get(path!) })),
    )
    expect(stated.length).toBeGreaterThan(15)
    const toNumber = (value: unknown) => (typeof value === 'string' ? toMs(value as Duration) / 1000 : value)
    expect(stated.filter(({ stated: one, actual }) => one !== toNumber(actual))).toEqual([])
  })

  test('no sample sets webhooks, the election or the peering in a startup handler, which kopf manifests does not call', () => {
    const setting = /settings\.(?:admission|election|peering|scanning)\.\w+ = /
    const wrong = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/on\.startup\((?:(?!^\}\)).)*/gms)]
        .flatMap(([handler]) => handler.split('\n'))
        .filter((line) => setting.test(line))
        .map((line) => `${page}: ${line.trim()}`),
    )
    expect(wrong).toEqual([])
  })
})

test('every quoted line of kubectl delete has the namespace, as kubectl 1.34 and newer print it', () => {
  const clusterScoped = /^(?:namespace|customresourcedefinition\.\S+|team\.example\.com|replication\.example\.com)$/
  const lines = listPages().flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/^(\S+) "[^"]+" (?:force )?deleted\b(.*)$/gm)].map(
      ([line, kind, rest]) => ({
        line: `${page}: ${line}`,
        expected: clusterScoped.test(kind!) ? /^$/ : / namespace$/,
        rest,
      }),
    ),
  )
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter(({ expected, rest }) => !expected.test(rest!)).map(({ line }) => line)).toEqual([])
})

/** The value of a constant at the top level of a source file: a number, or a product or sum of numbers. */
function constantIn(file: string, name: string): number {
  const [, text] =
    new RegExp(`^(?:export )?const ${name}(?:: number)? = ([\\d_ .*+/()]+)$`, 'm').exec(
      readFileSync(join('src', file), 'utf8'),
    ) ?? []
  if (text === undefined) throw new Error(`${file} has no constant ${name}`)
  return new Function(`return ${text.replaceAll('_', '')}`)() as number
}

const seconds = (file: string, name: string) => constantIn(file, name) / 1000
const minutes = (file: string, name: string) => constantIn(file, name) / 60_000
const stop = (step: keyof typeof stoppingMs) => stoppingMs[step] / 1000
const plural = (count: number, unit: string) => `${count} ${unit}${count === 1 ? '' : 's'}`

const limits: ReadonlyArray<readonly [page: string, text: string]> = [
  ['guide/handlers', `up to ${createSettings().queueing.workerLimit} objects`],
  ['guide/async', `[${createSettings().queueing.workerLimit} objects]`],
  ['guide/async', `After ${toMs(createSettings().queueing.slowAfter!) / 1000} seconds** (\`queueing.slowAfter\`)`],
  ['guide/async', `Up to ${createSettings().queueing.slowWorkerLimit} handlers`],
  ['guide/errors-and-retries', `${createSettings().execution.defaultBackoff} seconds by default`],
  [
    'guide/errors-and-retries',
    `(default: \`settings.execution.defaultBackoff\`, ${createSettings().execution.defaultBackoff} seconds)`,
  ],
  [
    'guide/errors-and-retries',
    `handlers have ${createSettings().queueing.exitTimeout} seconds (\`settings.queueing.exitTimeout\`)`,
  ],
  ['guide/settings', `(default: ${[...(createSettings().networking.errorBackoffs as number[])].join(', ')} seconds)`],
  ['guide/settings', `| \`posting.workerLimit\`      | ${constantIn('posting/poster.ts', 'defaultWorkerLimit')} `],
  ['reference/settings', `at most ${constantIn('posting/poster.ts', 'maxRetries')} retries are made`],
  ['guide/startup-and-shutdown', `\`settings.queueing.exitTimeout\`: ${createSettings().queueing.exitTimeout} seconds`],
  ...(
    [
      ['results are written', 'lastWrites'],
      ['the operator leaves the peering', 'leavePeering'],
      ['the last Kubernetes events are posted', 'lastEvents'],
      ['webhook configurations are emptied, except for persistent webhooks', 'withdrawWebhooks'],
      ['the webhook server answers its last requests and closes', 'lastReviews'],
      ['the Lease is released', 'releaseLease'],
    ] as const
  ).map(([step, limit]) => ['guide/startup-and-shutdown', `${step} | ${plural(stop(limit), 'second')} |`] as const),
  ['reference/webhook-configurations', `at most ${stop('withdrawWebhooks') + stop('lastReviews')} seconds`],
  ['guide/admission', `within ${stop('lastReviews')} seconds after the abort`],
  ['guide/admission', `at most ${constantIn('webhooks/http/review-request.ts', 'maxTimeoutMs') / 1000} seconds`],
  ['guide/daemons', `any, and ${seconds('daemons/termination.ts', 'exitGraceMs')} seconds`],
  ['guide/daemons', `abandoned after ${seconds('daemons/termination.ts', 'exitCancelMs')} more second`],
  ['guide/timers', `it has ${seconds('daemons/termination.ts', 'exitGraceMs')} seconds`],
  ['guide/reconcile', `up to ${minutes('reconciling/reconciler-state.ts', 'maxDelayMs')} minutes. Each delay`],
  ['guide/reconcile', `seconds, up to ${minutes('reconciling/children/contention.ts', 'maxDelayMs')} minutes`],
  ['guide/reconcile', `then every ${minutes('reconciling/children/existing-objects.ts', 'maxDelayMs')} minutes`],
  [
    'guide/persistence',
    `${constantIn('server/metadata.ts', 'maxAnnotationBytes') / 1024} KiB`.replace(/^/, 'can have '),
  ],
  ['operate/health-checks', `cached for ${seconds('activities/probes.ts', 'cacheMs')} seconds`],
  ['operate/health-checks', `A probe has ${seconds('activities/probes.ts', 'timeLimitMs')} seconds`],
  ['operate/health-checks', `within ${defaultLimits.requestTimeoutMs / 1000} seconds`],
  [
    'operate/metrics',
    `At most ${defaultLimits.maxConnections} connections are open, of these ${defaultLimits.maxPerAddress} from one address.`,
  ],
  ['operate/metrics', `Headers have at most ${defaultLimits.maxHeaderBytes / 1024} KiB`],
  ['operate/metrics', `within ${defaultLimits.requestTimeoutMs / 1000} seconds`],
  ['operate/metrics', `not read take at most ${defaultLimits.maxUnsentBytes / 1024 ** 2} MiB`],
  ['operate/metrics', `At most ${constantIn('serving/access-reviews.ts', 'maxRunning')} tokens`],
  [
    'operate/metrics',
    `permissions for five minutes, refusals for ${seconds('serving/access-reviews.ts', 'deniedMs')} seconds`,
  ],
  [
    'reference/handlers-and-options',
    `all probes together have ${seconds('activities/probes.ts', 'timeLimitMs')} seconds`,
  ],
  ['operate/peering', `(${plural(toMs(createSettings().peering.maxLifetime) / 3_600_000, 'hour')})`],
  [
    'operate/deploying',
    `The printed limit is ${constantIn('cli/deployment/workload.ts', 'memoryMi')} MiB. Node's heap gets ${constantIn('cli/deployment/workload.ts', 'heapMi')} MiB`,
  ],
  ['reference/webhook-servers', `sets it to ${constantIn('cli/deployment/workload.ts', 'heapMi')} MiB`],
  [
    'reference/webhook-servers',
    `| concurrent reviews | ${constantIn('webhooks/http/review-request.ts', 'maxActive')} |`,
  ],
  ['reference/webhook-servers', `${constantIn('webhooks/http/listener.ts', 'headTimeoutMs') / 1000} s each`],
  ['reference/webhook-servers', `stops | ${seconds('webhooks/http/listener.ts', 'closeTimeoutMs')} s |`],
  [
    'reference/webhook-servers',
    `503 if ${constantIn('webhooks/http/memory-budget.ts', 'maxWaiting')} reviews wait already`,
  ],
  [
    'operate/upgrading-crds',
    `does not start within ${seconds('cli/commands/crd/storage-version-migration.ts', 'maxIdleMs')} seconds`,
  ],
  ['operate/upgrading-crds', `waits for ${seconds('cli/commands/crd/migrate.ts', 'propagationMs')} seconds`],
  [
    'reference/errors',
    `A line of a watch is longer than ${constantIn('client/watch-lines.ts', 'maxLineBytes') / 1024 ** 2} MiB`,
  ],
  [
    'reference/errors',
    `${constantIn('client/session.ts', 'maxAnswerBytes') / 1024 ** 2} MiB (\`problem: 'too-large'\`)`,
  ],
  [
    'reference/testing',
    `At most ${constantIn('testing/waiting/resource-history.ts', 'maxSteps').toLocaleString('en')} states`,
  ],
  [
    'guide/authentication',
    `A program has ${minutes('client/auth/exec-plugin.ts', 'timeoutMs') === 1 ? 'one minute' : ''}`,
  ],
]

describe('limits in the pages', () => {
  test.each(limits)('the page %s says %j, as the code does', (page, text) => {
    // Lines are wrapped, and cells are padded.
    const hasText = read(page).replaceAll(/\s+/g, ' ').includes(text.replaceAll(/\s+/g, ' '))
    expect(hasText, `docs/${page}.md does not contain this text`).toBe(true)
  })
})
