/** The structure of `src/`, as far as a script can check it: imports point down, features are independent, and each power is used in one place. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = 'src'

/** Folders and single files from the bottom up. Each imports only from lines above its own; `errors.ts` may be imported everywhere. */
const layers: readonly (readonly string[])[] = [
  ['errors.ts', 'util'],
  ['kube'],
  ['causation'],
  ['observer.ts'],
  ['client'],
  ['serving'],
  ['watching', 'patching', 'persistence', 'queueing'],
  ['settings'],
  ['handlers'],
  ['steps', 'changes'],
  ['objects'],
  [
    'activities',
    'admission',
    'daemons',
    'election',
    'health',
    'indexing',
    'journal',
    'metrics',
    'peering',
    'posting',
    'reconciling',
    'tracing',
    'workers',
  ],
  ['rbac'],
  ['cluster', 'explain', 'plan'],
  ['dashboard'],
  ['run'],
  ['front door'],
  ['cli', 'testing'],
]

/** Folders that each implement one feature. None of them imports another one: removing a feature is deleting its folder and its row in run/bootstrap.ts. */
const features: readonly string[] = layers.find((layer) => layer.includes('daemons'))!

/**
 * Files under `smallLines` lines that one file imports and that stay separate all the same, with the reason. Any other such file belongs into its importer.
 */
const seams: Readonly<Record<string, string>> = {
  'activities/activity-definition.ts': 'the definition of a handler category, in its own folder',
  'dashboard/assets.ts': 'imported late, so that the files of the page are read only if the dashboard is on',
  'indexing/index-definition.ts': 'the definition of a handler category, in its own folder',
  'objects/event-definition.ts': 'the definition of a handler category, in its own folder',
  'cli/display/key-names.ts': 'pure and tested; its importer reads the terminal',
  'cli/deployment/render.ts': 'imported late, so that help and usage errors do not load it',
  'cli/deployment/source/source-files.ts': 'imported late, so that help and usage errors do not load esbuild',
  'cli/loading/compile-process.ts': 'the program of another process',
  'posting/log-events.ts': 'the log sink of a feature, in its own folder; its importer puts the run together',
  'objects/state/error-backoff.ts': 'a part of WatchedObject: each part has its own file',
  'objects/state/update-rate-limit.ts': 'a part of WatchedObject: each part has its own file',
  'testing/cluster/tracked-traffic.ts': 'a transport of its own, for tests only',
  'util/process/loop-guard-decision.ts': 'pure and tested; its importer is a program that runs on import',
  'util/process/process-identity.ts': 'a utility of the layer below its importer in server/, with a test of its own',
  'util/sliding-max.ts': 'a utility of the layer below its importer, with a test of its own',
}

const smallLines = 40

/** Packages of their own, with the folders that each may import. */
const packages: Readonly<Record<string, readonly string[]>> = {
  server: ['kube', 'util'],
  webhooks: ['client', 'kube', 'util', 'settings'],
}

/** Code for browsers, which is not part of a layer: it shares only the types of the dashboard's API with the operator. */
const browserFolder = 'dashboard-page'

interface Source {
  readonly path: string
  readonly folder: string
  readonly text: string
  readonly imports: readonly string[]
}

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
  .map((path): Source => {
    const text = readFileSync(join(root, path), 'utf8')
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!)
    const imports = specifiers.map((one) => (one.startsWith('.') ? normalize(join(dirname(path), one)) : one))
    return { path, folder: folderOf(path), text, imports }
  })

function folderOf(path: string): string {
  if (path === 'errors.ts' || path === 'observer.ts') return path
  return path.includes('/') ? path.split('/')[0]! : 'front door'
}

function layerOf(folder: string): number {
  return layers.findIndex((layer) => layer.includes(folder))
}

test('every folder of src has a layer', () => {
  const known = new Set([...layers.flat(), ...Object.keys(packages), browserFolder])
  expect(sources.length).toBeGreaterThan(400)
  expect(new Set(sources.map(({ folder }) => folder))).toEqual(known)
})

test('imports point down', () => {
  const upward = sources
    .filter(({ folder }) => layerOf(folder) >= 0)
    .flatMap(({ path, folder, imports }) =>
      imports
        .filter((target) => target.endsWith('.ts') && target !== 'errors.ts' && folderOf(target) !== folder)
        .filter((target) => {
          const other = folderOf(target)
          if (other in packages) return folder !== 'cli' && folder !== 'testing'
          // Two folders of one layer may share types in one direction; another test finds circles.
          return layerOf(other) > layerOf(folder)
        })
        .map((target) => `${path} -> ${target}`),
    )
  expect(upward).toEqual([])
})

test.each(Object.entries(packages))('%s imports only %j', (name, allowed) => {
  const offenders = sources
    .filter(({ folder }) => folder === name)
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.endsWith('.ts') && target !== 'errors.ts' && folderOf(target) !== name)
        .filter((target) => !allowed.includes(folderOf(target)))
        .map((target) => `${path} -> ${target}`),
    )
  expect(offenders).toEqual([])
})

test('the page of the dashboard imports only its libraries, and types of the protocol', () => {
  const page = sources.filter(({ folder }) => folder === browserFolder)
  expect(page.length).toBeGreaterThan(15)
  const foreign = page.flatMap(({ path, text }) => {
    // Lines of a text, such as those of a test that the page writes, are no imports.
    const imports = [...text.matchAll(/^(?:import|export)\b[^;'"`]*? from '([^']+)'/gm)].map(([, one]) =>
      one!.startsWith('.') ? normalize(join(dirname(path), one!)) : one!,
    )
    const allowed = /^(preact(\/hooks)?|@preact\/signals)$/
    const others = imports.filter((target) => !allowed.test(target) && !target.startsWith(`${browserFolder}/`))
    const values = valueImports(text, imports).filter((target) => !target.startsWith(`${browserFolder}/`))
    return [...others.filter((target) => target !== 'dashboard/protocol.ts'), ...values].map(
      (one) => `${path} -> ${one}`,
    )
  })
  expect(foreign).toEqual([])
  const importers = sources.filter(
    ({ folder, imports }) => folder !== browserFolder && imports.some((one) => one.startsWith(browserFolder)),
  )
  expect(importers.map(({ path }) => path)).toEqual([])
})

test('the detection of causes and the decision are pure: causation imports only kube and util', () => {
  const offenders = sources
    .filter(({ folder }) => folder === 'causation')
    .flatMap(({ path, imports }) =>
      imports.filter((target) => !/^(causation|kube|util)\//.test(target)).map((target) => `${path} -> ${target}`),
    )
  expect(offenders).toEqual([])
})

test('webhook servers know no more of the framework than a webhook server that a user writes', () => {
  const known = sources
    .filter(({ folder }) => folder === 'webhooks')
    .flatMap(({ imports }) => imports.filter((target) => target.startsWith('settings/')))
  expect(new Set(known)).toEqual(new Set(['settings/webhook-server.ts']))
})

test('features do not import each other', () => {
  const mixed = sources
    .filter(({ folder }) => features.includes(folder))
    .flatMap(({ path, folder, imports }) =>
      imports
        .filter((target) => folderOf(target) !== folder && features.includes(folderOf(target)))
        .map((target) => `${path} -> ${target}`),
    )
  expect(mixed).toEqual([])
  expect(features).toEqual([
    'activities',
    'admission',
    'daemons',
    'election',
    'health',
    'indexing',
    'journal',
    'metrics',
    'peering',
    'posting',
    'reconciling',
    'tracing',
    'workers',
  ])
})

test('no folder outside of server has more than 15 source files', () => {
  const counts = new Map<string, number>()
  for (const { path, folder } of sources) {
    if (folder !== 'server') counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  }
  expect([...counts].filter(([, count]) => count > 15)).toEqual([])
})

test('a small file outside of server that only one file imports is a part of that file, unless it is a known seam', () => {
  const importers = new Map<string, number>()
  for (const { imports } of sources) {
    for (const target of new Set(imports)) importers.set(target, (importers.get(target) ?? 0) + 1)
  }
  const small = sources.filter(({ folder, text }) => folder !== 'server' && text.split('\n').length - 1 < smallLines)
  const single = small.map(({ path }) => path).filter((path) => importers.get(path) === 1)
  expect(single.filter((path) => !Object.hasOwn(seams, path))).toEqual([])
})

test('the optional controllers of the server are imported dynamically only', () => {
  const isOptional = (path: string) => path.startsWith('server/controllers/workloads/') && !path.endsWith('/names.ts')
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

test('kube imports no module of Node', () => {
  const offenders = sources.filter(
    ({ folder, imports }) => folder === 'kube' && imports.some((one) => one.startsWith('node:')),
  )
  expect(offenders.map(({ path }) => path)).toEqual([])
})

test('no imports form a circle', () => {
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

/** The imports of a file without type-only ones, which do not exist at run time and cannot form a circle. */
function valueImports(text: string, imports: readonly string[]): string[] {
  const typeOnly = new Set(
    [...text.matchAll(/^import type [^;]*? from\s+'([^']+)'/gms)].map((match) => match[1]!.split('/').at(-1)!),
  )
  return imports.filter((target) => /\.tsx?$/.test(target) && !typeOnly.has(target.split('/').at(-1)!))
}

test.each([
  ['timers', /\b(setTimeout|setInterval|setImmediate)\(/, ['util/async/clock.ts']],
  [
    'the environment',
    /\bprocess\.env\b/,
    [
      'cli/environment.ts',
      'client/identity.ts',
      'client/auth/kubeconfig.ts',
      'client/http/proxy.ts',
      'client/auth/service-account.ts',
      'testing/kopf-runner.ts',
      'util/process/child-program.ts',
    ],
  ],
  [
    'other programs',
    /'node:child_process'/,
    ['cli/loading/compile.ts', 'cli/dev/operator-child.ts', 'testing/kopf-runner.ts', 'util/process/child-program.ts'],
  ],
  [
    'ending the process',
    /\bprocess\.(exit|abort|kill|reallyExit)\b/,
    // util/process/process-identity.ts sends signal 0, which only checks whether a process exists; util/process/child-program.ts kills the
    // process group of a program that it has started.
    [
      'util/process/child-program.ts',
      'cli/execute.ts',
      'cli/exit.ts',
      'cli/commands/dev.ts',
      'cli/loading/compile-process.ts',
      'cli/dev/operator-process.ts',
      'util/process/loop-guard-thread.ts',
      'util/process/loop-guard.ts',
      'util/process/process-identity.ts',
      'util/process/signals.ts',
    ],
  ],
  [
    'what listens to the process',
    /\bprocess\.(on|once|addListener)\(/,
    [
      'util/process/loop-guard.ts',
      'util/process/signals.ts',
      'cli/loading/compile.ts',
      'cli/loading/compile-process.ts',
      'cli/dev/operator-child.ts',
      'cli/dev/operator-process.ts',
      'cli/dev/rebuild.ts',
      'cli/run/stray-errors.ts',
      'cli/terminal.ts',
      'testing/kopf-runner.ts',
      'util/process/child-program.ts',
    ],
  ],
  ['the console', /\bconsole\./, []],
  [
    'standard output and error',
    /\bprocess\.(stdout|stderr)\b/,
    [
      'cli/execute.ts',
      'cli/terminal.ts',
      'cli/commands/run.ts',
      'cli/commands/server.ts',
      'util/log/log.ts',
      'util/process/loop-guard-thread.ts',
    ],
  ],
  ['calling functions of the user', /\bhandler\.fn\b.*\)\(/, ['handlers/invoke.ts']],
  // The pattern does not match the name of another file in comments and messages.
  [
    'addresses of our own files',
    /(new URL\((?!'\.\/(?:heavy|file))[^)]*|createRequire\(|fileURLToPath\()import\.meta\.url/,
    ['util/process/package-files.ts'],
  ],
  ['threads', /\bnew Worker\(/, ['workers/worker-thread.ts', 'util/process/loop-guard.ts']],
  [
    'connections to others',
    /\{[^}]*\b(request|connect)\b[^}]*\} from 'node:(https?|net|tls)'/,
    ['client/http/transport.ts', 'client/http/proxy-tunnel.ts', 'client/cluster-flavour.ts', 'server/webhooks/call.ts'],
  ],
  ['listening on a port', /\bcreateServer\b/, ['server/http.ts', 'serving/endpoint.ts', 'webhooks/http/listener.ts']],
])('%s are used in one place only', (_, pattern, places) => {
  const users = sources
    .filter(({ folder, text }) => folder !== browserFolder && pattern.test(text))
    .map(({ path }) => path)
  expect(users.filter((path) => !(places as readonly string[]).includes(path))).toEqual([])
})

test('there are no default exports and no re-exporting indexes but the entries', () => {
  const defaults = sources.filter(({ text }) => /^export default/m.test(text)).map(({ path }) => path)
  const indexes = sources.filter(({ path }) => /(^|\/)index\.ts$/.test(path)).map(({ path }) => path)
  expect(defaults).toEqual([])
  expect(indexes.sort()).toEqual(['index.ts', 'server/index.ts', 'testing/index.ts', 'webhooks/index.ts'])
})

test('every event of the Observer is emitted', () => {
  const declared = sources.find(({ path }) => path === 'observer.ts')!.text
  const events = [...declared.slice(declared.indexOf('export interface Observer {')).matchAll(/^ {2}(\w+)\?\(/gm)].map(
    ([, name]) => name!,
  )
  expect(events.length).toBeGreaterThan(20)
  const emitters = sources.filter(({ path }) => path !== 'observer.ts' && path !== 'run/observers.ts')
  const isEmitted = (event: string) =>
    emitters.some(({ text }) => new RegExp(`\\.${event}(\\?\\.)?\\(|report\\('${event}'`).test(text))
  expect(events.filter((event) => !isEmitted(event))).toEqual([])
})
