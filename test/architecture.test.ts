/** The house rules that a script can check: who may import whom, and which powers are used in one place only. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = 'src'

/** Rooms from the bottom up; what each may import beside itself and `errors.ts`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  util: [],
  kube: ['util'],
  client: ['kube', 'util'],
  server: ['kube', 'util'],
  // What users hand over in `settings.admission.server`; of core it knows only that seam.
  webhooks: ['core', 'client', 'kube', 'util'],
  core: ['client', 'kube', 'util'],
  features: ['core', 'client', 'kube', 'util'],
  running: ['features', 'core', 'client', 'kube', 'util'],
  // The front door and what stands in it.
  '': ['running', 'core', 'client', 'kube', 'util'],
  cli: ['', 'server', 'client', 'kube', 'util'],
  // Operators from outside, and their handlers one by one: of `running` only what finds resources, and no feature by itself.
  testing: ['', 'running', 'server', 'core', 'client', 'kube', 'util'],
}

/** Inside core, from the bottom up. */
const core = ['watching', 'queueing', 'causation', 'patching', 'persistence', 'settings', 'handling', 'explaining']

interface Source {
  readonly path: string
  readonly room: string
  readonly text: string
  readonly imports: readonly string[]
}

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path): Source => {
    const text = readFileSync(join(root, path), 'utf8')
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!)
    const imports = specifiers.map((one) => (one.startsWith('.') ? normalize(join(dirname(path), one)) : one))
    return { path, room: path.includes('/') ? path.split('/')[0]! : '', text, imports }
  })

function roomOf(path: string): string {
  return path.includes('/') ? path.split('/')[0]! : ''
}

test('the tree was found', () => {
  expect(sources.length).toBeGreaterThan(50)
  expect(new Set(sources.map(({ room }) => room))).toEqual(new Set(Object.keys(allowed)))
})

test('imports point down', () => {
  const upward = sources.flatMap(({ path, room, imports }) =>
    imports
      .filter((target) => target.endsWith('.ts') && target !== 'errors.ts' && roomOf(target) !== room)
      .filter((target) => !allowed[room]?.includes(roomOf(target)))
      .map((target) => `${path} -> ${target}`),
  )
  expect(upward).toEqual([])
})

test('inside core, too, imports point down', () => {
  const rankOf = (path: string) => core.indexOf(path.split('/')[1]!.replace(/^settings.*/, 'settings'))
  const upward = sources
    .filter(({ room }) => room === 'core')
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('core/') && rankOf(target) > rankOf(path))
        .map((target) => `${path} -> ${target}`),
    )
  expect(upward).toEqual([])
})

test('finding out what happened is pure: causation knows only kube and util', () => {
  const offenders = sources
    .filter(({ path }) => path.startsWith('core/causation/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => !/^(core\/causation|kube|util)\//.test(target))
        .map((target) => `${path} -> ${target}`),
    )
  expect(offenders).toEqual([])
})

test('features do not know each other', () => {
  const offenders = sources
    .filter(({ room }) => room === 'features')
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('features/') && target.split('/')[1] !== path.split('/')[1])
        .map((target) => `${path} -> ${target}`),
    )
  expect(offenders).toEqual([])
})

test('webhook servers know no more of core than one that a user writes', () => {
  const known = sources
    .filter(({ room }) => room === 'webhooks')
    .flatMap(({ imports }) => imports.filter((target) => target.startsWith('core/')))
  expect(new Set(known)).toEqual(new Set(['core/webhook-server.ts']))
})

test('nobody needs the testing kit, and it looks into no more of a run than what the cluster serves and reconcilers return', () => {
  const users = sources.filter(
    ({ room, imports }) => room !== 'testing' && imports.some((one) => roomOf(one) === 'testing'),
  )
  expect(users.map(({ path }) => path)).toEqual([])
  const known = sources
    .filter(({ room }) => room === 'testing')
    .flatMap(({ imports }) => imports.filter((target) => target.startsWith('running/')))
  expect(new Set(known)).toEqual(new Set(['running/insights.ts', 'running/reconcile-trial.ts']))
})

test('the optional controllers of the server are loaded by nobody until they are asked for', () => {
  const isOptional = (path: string) => path.startsWith('server/controllers/life/') && !path.endsWith('/names.ts')
  const users = sources
    .filter(({ path }) => !isOptional(path))
    .flatMap(({ path, text, imports }) =>
      valueImports(text, imports)
        .filter(
          (target) => isOptional(target) && !text.includes(`await import('./${target.split('/').slice(2).join('/')}')`),
        )
        .map((target) => `${path} -> ${target}`),
    )
  expect(users).toEqual([])
  expect(sources.filter(({ path }) => isOptional(path)).length).toBeGreaterThan(20)
})

test('the words of Kubernetes need no platform: kube imports no node module', () => {
  const offenders = sources.filter(
    ({ room, imports }) => room === 'kube' && imports.some((one) => one.startsWith('node:')),
  )
  expect(offenders.map(({ path }) => path)).toEqual([])
})

test('nothing imports itself in a circle', () => {
  const edges = new Map(sources.map(({ path, text, imports }) => [path, valueImports(text, imports)]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const target of edges.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  expect(circles).toEqual([])
})

/** Types are gone at run time: only what is imported as a value can make a circle. */
function valueImports(text: string, imports: readonly string[]): string[] {
  const typeOnly = new Set(
    [...text.matchAll(/^import type [^;]*? from\s+'([^']+)'/gms)].map((match) => match[1]!.split('/').at(-1)!),
  )
  return imports.filter((target) => target.endsWith('.ts') && !typeOnly.has(target.split('/').at(-1)!))
}

test.each([
  ['timers', /\b(setTimeout|setInterval|setImmediate)\(/, ['util/clock.ts']],
  [
    'the environment',
    /\bprocess\.env\b/,
    [
      'cli/environment.ts',
      'client/identity.ts',
      'client/kubeconfig.ts',
      'client/proxy.ts',
      'client/service-account.ts',
      'testing/kopf-runner.ts',
      'util/program.ts',
    ],
  ],
  [
    'other programs',
    /'node:child_process'/,
    ['cli/compile.ts', 'cli/dev/operator-child.ts', 'testing/kopf-runner.ts', 'util/program.ts'],
  ],
  [
    'ending the process',
    /\bprocess\.(exit|abort|kill|reallyExit)\b/,
    // util/processes.ts only asks whether somebody is there.
    [
      'cli/main.ts',
      'cli/ending.ts',
      'cli/commands/dev.ts',
      'cli/compile-process.ts',
      'cli/dev/operator-process.ts',
      'util/loop-guard-thread.ts',
      'util/loop-guard.ts',
      'util/processes.ts',
      'util/signals.ts',
    ],
  ],
  [
    'what listens to the process',
    /\bprocess\.(on|once|addListener)\(/,
    [
      'util/loop-guard.ts',
      'util/signals.ts',
      'cli/compile.ts',
      'cli/compile-process.ts',
      'cli/dev/operator-child.ts',
      'cli/dev/operator-process.ts',
      'cli/dev/rebuild.ts',
      'cli/stray-errors.ts',
      'cli/terminal.ts',
      'testing/kopf-runner.ts',
      'util/program.ts',
    ],
  ],
  ['the console', /\bconsole\./, []],
  [
    'standard output and error',
    /\bprocess\.(stdout|stderr)\b/,
    ['cli/main.ts', 'cli/terminal.ts', 'cli/commands/run.ts', 'cli/commands/server.ts', 'util/log.ts'],
  ],
  ['calling functions of the user', /\bhandler\.fn\b.*\)\(/, ['core/handling/invoke.ts']],
  // Comments and messages that tell users of it are not meant: there, another file is named.
  [
    'addresses of our own files',
    /(new URL\((?!'\.\/heavy)[^)]*|createRequire\(|fileURLToPath\()import\.meta\.url/,
    ['util/package-files.ts'],
  ],
  ['threads', /\bnew Worker\(/, ['features/workers/worker-thread.ts', 'util/loop-guard.ts']],
  [
    'connections to others',
    /\{[^}]*\b(request|connect)\b[^}]*\} from 'node:(https?|net|tls)'/,
    ['client/transport.ts', 'client/tunnel.ts', 'client/peer-certificate.ts', 'server/webhooks/call.ts'],
  ],
  [
    'listening on a port',
    /\bcreateServer\b/,
    ['server/http.ts', 'features/health/endpoint.ts', 'webhooks/listener.ts'],
  ],
])('%s are used in one place only', (_, pattern, places) => {
  const users = sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path)
  expect(users.filter((path) => !(places as readonly string[]).includes(path))).toEqual([])
})

test('there are no default exports and no re-exporting indexes but the entries', () => {
  const defaults = sources.filter(({ text }) => /^export default/m.test(text)).map(({ path }) => path)
  const indexes = sources.filter(({ path }) => path.endsWith('index.ts')).map(({ path }) => path)
  expect(defaults).toEqual([])
  expect(indexes.sort()).toEqual(['index.ts', 'server/index.ts', 'testing/index.ts', 'webhooks/index.ts'])
})
