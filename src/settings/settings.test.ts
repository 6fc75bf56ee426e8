import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Resource } from '../kube/resources/resources.ts'
import { EVERYTHING } from '../kube/resources/selector-notations.ts'
import { AnnotationsDiffBaseStorage } from '../persistence/diffbase-storage.ts'
import { AnnotationsProgressStorage, SmartProgressStorage } from '../persistence/progress-storage.ts'
import type { Duration } from '../util/text/duration.ts'
import { SelectorMap } from './selector-map.ts'
import { createSettings, type PartialSettings, type Settings } from './settings.ts'

/** Settings without type checks, as in plain JavaScript. */
type Loose = Record<string, Record<string, unknown>>

function asLoose(settings: Settings): Loose {
  return settings as unknown as Loose
}

const fibonacci = [1, 1, 2, 3, 5, 8, 13, 21]

test('every setting has a default', () => {
  expect(createSettings()).toEqual({
    process: { guard: true, blockedExitTimeout: 5, ultimateExitingTimeout: 600, gracePeriod: null },
    posting: {
      enabled: true,
      loggers: false,
      level: 'info',
      defaultBackoffs: fibonacci,
      loggingBackoffs: [1, 1, 2, 3, 5],
      workerLimit: null,
      reportingComponent: 'kopf',
      reportingInstance: 'dev',
      eventNamePrefix: 'kopf-event-',
    },
    tracing: { enabled: true },
    logging: { frameworkLevel: null },
    journal: { enabled: null, entriesPerObject: 50, maxBytes: 10_485_760 },
    dashboard: { address: null, plainHttp: false, certFile: null, keyFile: null },
    metrics: { address: null, plainHttp: false, certFile: null, keyFile: null, registry: null, namespaces: false },
    peering: {
      name: 'default',
      stealth: false,
      priority: 0,
      lifetime: 60,
      maxLifetime: '24h',
      mandatory: false,
      standalone: false,
      clusterwide: false,
    },
    election: {
      enabled: false,
      name: null,
      namespace: null,
      leaseDuration: '15s',
      renewDeadline: '10s',
      retryPeriod: '2s',
    },
    watching: {
      serverTimeout: null,
      clientTimeout: null,
      connectTimeout: null,
      reconnectBackoff: 0.1,
      inactivityTimeout: 70,
      chunkSize: 500,
      initialStreaming: true,
      maxObjectBytes: 3145728,
      labelSelectors: new SelectorMap(),
      fieldSelectors: new SelectorMap(),
      shardSelectors: new SelectorMap(),
    },
    queueing: {
      workerLimit: 64,
      slowAfter: '5s',
      slowWorkerLimit: 512,
      exitTimeout: 15,
      errorDelays: [...fibonacci, 34, 55, 89, 144, 233, 377, 610],
    },
    scanning: { disabled: false },
    admission: { server: null, managed: null },
    execution: { defaultBackoff: 60, maxWorkers: null },
    background: { cancellationPolling: 60, instantExitTimeout: null, instantExitZeroTimeCycles: 10 },
    reconciling: { fieldManager: null },
    networking: {
      requestTimeout: 300,
      connectTimeout: null,
      errorBackoffs: fibonacci,
      enforceRetryAfter: false,
      trustEnv: false,
    },
    steps: { signing: 'preferred', keys: [], secret: null },
    persistence: {
      finalizer: 'kopf.zalando.org/KopfFinalizerMarker',
      progressStorage: expect.any(SmartProgressStorage),
      diffbaseStorage: expect.any(AnnotationsDiffBaseStorage),
      secretValues: 'digest',
      consistencyTimeout: 5,
    },
  })
})

test('settings of two operators share no state', () => {
  const [one, other] = [createSettings(), createSettings()]
  one.watching.labelSelectors.set('pods', 'a=b')
  ;(one.networking.errorBackoffs as number[]).push(100)
  expect(other.watching.labelSelectors.size).toBe(0)
  expect(other.networking.errorBackoffs).toEqual(fibonacci)
  expect(other.persistence.progressStorage).not.toBe(one.persistence.progressStorage)
})

describe('given settings', () => {
  test('given settings replace the defaults one by one', () => {
    const settings = createSettings({ queueing: { workerLimit: 10 }, execution: { defaultBackoff: '15s' } })
    expect(settings.queueing).toMatchObject({ workerLimit: 10, exitTimeout: 15 })
    expect(settings.execution.defaultBackoff).toBe('15s')
  })

  test('an undefined setting keeps its default', () => {
    const overrides = { queueing: { workerLimit: undefined }, posting: undefined } as unknown as PartialSettings
    expect(createSettings(overrides).queueing.workerLimit).toBe(64)
  })

  test('settings can be created from the settings of another operator', () => {
    const other = createSettings({ queueing: { workerLimit: 1 }, peering: { clusterwide: true } })
    const settings = createSettings(other)
    expect(settings.queueing.workerLimit).toBe(1)
    expect(settings.peering.clusterwide).toBe(true)
  })

  test('a map of selectors in the settings can be given as pairs or as an object', () => {
    const { watching } = createSettings({
      watching: { labelSelectors: { pods: 'a=b' }, fieldSelectors: [[['kopf.dev', EVERYTHING], 'x=y']] },
    })
    expect([...watching.labelSelectors]).toEqual([['pods', 'a=b']])
    expect([...watching.fieldSelectors]).toEqual([[['kopf.dev', EVERYTHING], 'x=y']])
  })
})

const valid: [string, string, unknown][] = [
  ['process', 'guard', false],
  ['process', 'blockedExitTimeout', null],
  ['process', 'ultimateExitingTimeout', null],
  ['process', 'gracePeriod', '45s'],
  ['posting', 'level', 'error'],
  ['posting', 'defaultBackoffs', '1s'],
  ['posting', 'defaultBackoffs', []],
  ['peering', 'priority', -5],
  ['election', 'name', 'databases.example.com'],
  ['election', 'namespace', null],
  ['watching', 'chunkSize', 0],
  ['watching', 'chunkSize', null],
  ['watching', 'serverTimeout', '10m'],
  ['queueing', 'workerLimit', null],
  ['admission', 'server', () => undefined],
  ['networking', 'errorBackoffs', new Set([1, '2s'])],
  ['steps', 'signing', 'required'],
  ['steps', 'keys', ['x'.repeat(32)]],
  ['persistence', 'finalizer', 'example.com/mine'],
  ['persistence', 'progressStorage', new AnnotationsProgressStorage()],
]

test.each(valid)('settings.%s.%s can be set to %o', (group, name, value) => {
  const settings = asLoose(createSettings())
  settings[group]![name] = value
  expect(settings[group]![name]).toBe(value)
  expect(asLoose(createSettings({ [group]: { [name]: value } } as PartialSettings))[group]![name]).toBe(value)
})

function* onceOnly() {
  yield 1
}

const invalid: [string, string, unknown, RegExp][] = [
  [
    'queueing',
    'workerLimt',
    5,
    /"settings.queueing.workerLimt": there is no such setting; did you mean "workerLimit"\?/,
  ],
  ['queueing', 'worker_limit', 5, /did you mean "workerLimit"\?/],
  ['scanning', 'nonsense', 5, /there is no such setting; there are "disabled"/],
  ['scanning', '__proto__', 5, /there is no such setting/],
  ['scanning', 'constructor', 5, /there is no such setting/],
  ['queueing', 'workerLimit', 0, /expected a whole number of at least 1, or null, got 0/],
  ['queueing', 'workerLimit', '10', /got "10"/],
  ['queueing', 'workerLimit', 1.5, /got 1.5/],
  ['queueing', 'errorDelays', 5, /expected a list of durations/],
  ['queueing', 'errorDelays', '10s', /expected a list of durations/],
  ['networking', 'errorBackoffs', [1, -1], /expected a duration, or a list of durations.*got a list/],
  ['networking', 'errorBackoffs', onceOnly(), /can be iterated repeatedly/],
  ['networking', 'requestTimeout', -1, /expected a number of seconds or a string such as "10s", or null, got -1/],
  ['networking', 'trustEnv', 'yes', /expected true or false, got "yes"/],
  ['execution', 'defaultBackoff', null, /got null/],
  ['execution', 'defaultBackoff', '10 s', /got "10 s"/],
  ['posting', 'level', 'trace', /expected one of "debug", "info", "warn", "error"/],
  ['posting', 'reportingComponent', '', /expected a string that is not empty/],
  ['peering', 'priority', 0.5, /expected a whole number, got 0.5/],
  ['election', 'name', 'My Operator', /expected the name of an object, such as "my-operator"/],
  ['election', 'leaseDuration', 'long', /expected a number of seconds/],
  ['steps', 'signing', 'on', /expected one of "required", "preferred", "off"/],
  ['steps', 'keys', ['short'], /expected a list of texts of at least 32 characters.*got something else$/],
  ['steps', 'keys', 'a-key-that-was-given-without-a-list-around-it', /got something else$/],
  ['steps', 'secret', 'My Secret', /expected the name of an object/],
  ['persistence', 'finalizer', 'not a name', /such as "example.com\/my-finalizer"/],
  ['persistence', 'progressStorage', {}, /a progress storage: an object with "fetch"/],
  ['persistence', 'diffbaseStorage', 'annotations', /a diff-base storage/],
  ['admission', 'server', 'localhost', /expected a webhook server such as `new WebhookServer\(\)` of kopf\/webhooks/],
  ['admission', 'server', {}, /or a function that serves, or null/],
  ['watching', 'labelSelectors', 'a=b', /expected a SelectorMap/],
  ['watching', 'labelSelectors', { pods: 5 }, /Cannot set a selector for pods: expected a string/],
]

test.each(invalid)('the setting settings.%s.%s is refused: case %#', (group, name, value, message) => {
  const settings = createSettings()
  const before = structuredClone(Object.keys(asLoose(settings)[group]!))
  const values = Object.defineProperty({}, name, { value, enumerable: true })
  expect(() => Reflect.set(asLoose(settings)[group]!, name, value)).toThrow(message)
  expect(() => createSettings({ [group]: values } as PartialSettings)).toThrow(message)
  expect(Object.keys(asLoose(settings)[group]!)).toEqual(before)
})

describe('groups of settings', () => {
  test.each<[string, unknown, RegExp]>([
    ['queing', {}, /Cannot set "settings.queing": there is no such group of settings; did you mean "queueing"\?/],
    ['workerLimit', 5, /did you mean "posting.workerLimit"\?/],
    ['queueing', 5, /Cannot use 5 as settings.queueing: expected an object/],
    ['queueing', null, /Cannot use null as settings.queueing/],
  ])('the settings group %s with %o is refused', (name, value, message) => {
    expect(() => createSettings({ [name]: value } as PartialSettings)).toThrow(message)
  })

  test.each<[(settings: Loose) => unknown, RegExp]>([
    [(settings) => Object.assign(settings, { queueing: {} }), /a group cannot be replaced/],
    [(settings) => Object.assign(settings, { batching: {} }), /no such group/],
    [(settings) => delete settings['queueing'], /a group cannot be replaced/],
    [(settings) => delete settings['queueing']!['workerLimit'], /neither deleted nor redefined/],
    [(settings) => Object.defineProperty(settings['queueing'], 'workerLimit', { value: 1 }), /nor redefined/],
  ])('a group of settings cannot be replaced, deleted or redefined: case %#', (change, message) => {
    const settings = createSettings()
    expect(() => change(asLoose(settings))).toThrow(message)
    expect(settings.queueing.workerLimit).toBe(64)
  })

  test('every refused setting has the same error code', () => {
    expect(() => createSettings(5 as never)).toThrow(expect.objectContaining({ code: 'KOPF_SETTINGS' }))
    expect(() => createSettings({ x: {} } as never)).toThrow(expect.objectContaining({ code: 'KOPF_SETTINGS' }))
  })
})

test.each([
  ['posting', 'idleTimeout', 'remove it'],
  ['queueing', 'idleTimeout', 'remove it'],
  ['queueing', 'batchWindow', 'the newest state is handled at once'],
  ['execution', 'executor', 'inWorker()'],
  ['peering', 'namespaced', 'peering.clusterwide'],
])('Kopf’s setting %s.%s, which does not exist here, is refused with advice', (group, name, advice) => {
  const message = new RegExp(
    `Cannot set "settings.${group}.${name}": it does not exist here: .*${advice.replace(/[()]/g, '.')}`,
  )
  expect(() => createSettings({ [group]: { [name]: 1 } } as PartialSettings)).toThrow(message)
  expect(() => Reflect.set(asLoose(createSettings())[group]!, name, 1)).toThrow(message)
})

test('the compiler knows the names of the settings', () => {
  const settings = createSettings()
  // @ts-expect-error: a name that is not there
  expect(() => Object(settings.queueing.workerLimt)).not.toThrow()
  // @ts-expect-error: a value that will not do
  expect(() => createSettings({ queueing: { workerLimit: '5' } })).toThrow()
  expectTypeOf(settings.execution.defaultBackoff).toEqualTypeOf<Duration>()
})

describe('maps of selectors', () => {
  const pods: Resource = {
    group: '',
    version: 'v1',
    plural: 'pods',
    kind: 'Pod',
    singular: 'pod',
    shortcuts: ['po'],
    categories: ['all'],
    subresources: [],
    namespaced: true,
    preferred: true,
    verbs: [],
  }

  test('a map of selectors gives all values that match a resource, in order', () => {
    const map = new SelectorMap()
      .set('pods', 'a')
      .set('nodes', 'b')
      .set(EVERYTHING, 'c')
      .set({ category: 'all' }, 'd')
      .set((resource) => resource.kind === 'Pod', 'e')
    expect(map.match(pods)).toEqual(['a', 'c', 'd', 'e'])
  })

  test('a map of selectors keeps one value per selector, however the selector is written', () => {
    const isPod = (resource: Resource) => resource.kind === 'Pod'
    const map = new SelectorMap([
      ['pods.v1', 'a'],
      [isPod, 'b'],
      [() => false, 'c'],
    ])
    map.set('pods.v1', 'A').set(isPod, 'B').set({ kind: 'pods', version: 'v1' }, 'other')
    expect([...map].map(([, value]) => value)).toEqual(['A', 'B', 'c', 'other'])
    expect(map.delete(isPod)).toBe(true)
    expect(map.delete(isPod)).toBe(false)
    expect(map.size).toBe(3)
    map.clear()
    expect(map.match(pods)).toEqual([])
  })

  test('a map of selectors refuses an invalid selector', () => {
    expect(() => new SelectorMap().set('', 'a')).toThrow()
    expect(() => new SelectorMap().set('pods', null as never)).toThrow(/expected a string such as "app=web"/)
  })
})
