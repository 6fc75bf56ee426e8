/** The views of a made-up operator for databases, with fixed times and numbers, so that the screenshots of the dashboard differ only where the page does. */
import type {
  HandlerRow,
  JournalEntry,
  ObjectRow,
  ObjectState,
  ObjectsView,
  ObjectView,
  OverviewView,
  Sample,
  Views,
} from '../../../src/dashboard/protocol.ts'

/** 2026-11-19, 12:00:00 UTC */
export const nowMs: number = Date.UTC(2026, 10, 19, 12)

const databases = 'databases.v1.example.com'
const backups = 'backups.v1.example.com'

/** A generator with a fixed seed: the same numbers in each run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const names = ['orders', 'billing', 'search', 'sessions', 'invoices', 'catalogue', 'reports', 'audit']
const namespaces = ['shop', 'staging', 'team-blue', 'team-green']

const rare: readonly (readonly [ObjectState, string, number])[] = [
  ['failed', 'provision: The engine "mysqll" is not known', 3],
  ['retrying', 'resize: The disk is busy; again in 42 s', 5],
  ['handling', 'provision runs for 3 s', 0],
  ['waiting', 'waits for a free worker', 0],
  ['deleting', 'waits for the daemon "ping"', 0],
]

const objectCount = 10_000

const objects: readonly ObjectRow[] = createObjects()

/** The first objects are urgent, as in the order of the operator. */
function createObjects(): ObjectRow[] {
  const random = createRandom(7)
  const counts = [2, 5, 3, 12, 1]
  const urgent = rare.flatMap((one, index) => Array.from({ length: counts[index]! }, () => one))
  return Array.from({ length: objectCount }, (_, index): ObjectRow => {
    const [state, why, errors] = urgent[index] ?? ['handled' as const, undefined, 0]
    const isBackup = index > 30 && index % 3 === 0
    const suffix = index < 30 ? '' : `-${index}`
    return {
      resource: isBackup ? backups : databases,
      namespace: namespaces[index % 4]!,
      name: `${names[(index >> 2) % 8]}${suffix}`,
      uid: `uid-${index}`,
      state,
      ...(why !== undefined && { why }),
      changedAtMs: nowMs - Math.floor(random() * 3_600_000) - 4000,
      ...(state === 'retrying' && { nextAtMs: nowMs + 42_000 + index * 1000 }),
      errors,
    }
  })
}

function countStates(resource: string): Record<ObjectState, number> {
  const counts = { failed: 0, retrying: 0, handling: 0, waiting: 0, deleting: 0, handled: 0 }
  for (const row of objects) if (row.resource === resource) counts[row.state] += 1
  return counts
}

function createHistory(): Sample[] {
  const random = createRandom(3)
  return Array.from({ length: 120 }, (_, index): Sample => {
    const wave = 1 + Math.sin(index / 9) / 2
    const isBurst = index > 96 && index < 104
    return {
      atMs: nowMs - (119 - index) * 5000,
      events: round(wave * 3 + random() + (isBurst ? 9 : 0)),
      handlerCalls: round(wave * 1.6 + random() * 0.6 + (isBurst ? 7 : 0)),
      handlerErrors: isBurst || index > 112 ? round(random() * 0.8) : 0,
      requests: round(wave * 5 + random() * 2 + (isBurst ? 14 : 0)),
      queue: isBurst ? Math.round(random() * 60) : Math.round(random() * 12),
      lagMs: round(1 + random() * 3 + (isBurst ? 11 : 0)),
    }
  })
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

const overview: OverviewView = {
  operator: {
    name: 'databases-operator',
    version: '0.1.0',
    node: 'v22.11.0',
    server: 'Kubernetes v1.36.1',
    startedAtMs: nowMs - 93_780_000,
    phase: 'running',
    leader: 'leading',
    isPaused: false,
    pausedNamespaces: [],
  },
  readiness: { ready: true, checks: { watches: { ok: true } } },
  resources: [
    {
      resource: databases,
      kind: 'Database',
      states: countStates(databases),
      handlers: [
        { id: 'provision', type: 'create' },
        { id: 'resize', type: 'update' },
        { id: 'drop', type: 'delete' },
        { id: 'ping', type: 'daemon' },
        { id: 'check', type: 'validate' },
      ],
      streams: { open: 1, down: 0, restarts: 2, silenceSeconds: 1.2 },
    },
    {
      resource: backups,
      kind: 'Backup',
      states: countStates(backups),
      handlers: [
        { id: 'schedule', type: 'timer' },
        { id: 'store', type: 'reconcile' },
      ],
      streams: { open: 1, down: 0, restarts: 0, silenceSeconds: 8 },
    },
    {
      resource: 'secrets.v1',
      kind: 'Secret',
      handlers: [{ id: 'credentials', type: 'event' }],
      streams: { open: 1, down: 0, restarts: 0, silenceSeconds: 30 },
    },
  ],
  queue: { waiting: 12, active: 3, longestWaitSeconds: 1.4 },
  eventLoop: { lagMs: 2.4 },
  memory: { rssBytes: 148 * 1024 ** 2, heapBytes: 61 * 1024 ** 2 },
  daemons: 6667,
  webhooks: { state: 'serving', reviews: 1204, denials: 7 },
  problems: 3,
  history: createHistory(),
}

const orders = { resource: databases, namespace: 'shop', name: 'orders' }

const secondsAgo = (seconds: number) => nowMs - seconds * 1000

const timeline: readonly JournalEntry[] = [
  {
    id: 1,
    atMs: secondsAgo(3600),
    type: 'state',
    event: 'ADDED',
    resourceVersion: '4711',
    changes: [],
    moreChanges: 0,
  },
  {
    id: 2,
    atMs: secondsAgo(3599.99),
    type: 'decision',
    decision: 'add-finalizer',
    reason: 'required',
    why: 'A handler needs the finalizer, and the object does not have it: it is added.',
  },
  {
    id: 3,
    atMs: secondsAgo(3599.8),
    type: 'handler',
    handler: 'provision',
    handlerType: 'create',
    retry: 0,
    outcome: 'succeeded',
    durationMs: 2340,
  },
  {
    id: 4,
    atMs: secondsAgo(3597.4),
    type: 'write',
    purpose: 'handling',
    requests: 1,
    changes: [
      { operation: 'add', path: 'status.phase', new: '"Ready"', by: 'provision' },
      { operation: 'add', path: 'status.endpoint', new: '"orders.shop.svc:5432"', by: 'provision' },
    ],
    moreChanges: 1,
  },
  { id: 5, atMs: secondsAgo(3597.39), type: 'daemon', action: 'started', handler: 'ping' },
  {
    id: 6,
    atMs: secondsAgo(128),
    type: 'state',
    event: 'MODIFIED',
    changes: [{ operation: 'change', path: 'spec.storage.gigabytes', old: '50', new: '120' }],
    moreChanges: 0,
  },
  {
    id: 7,
    atMs: secondsAgo(127.99),
    type: 'decision',
    decision: 'handle',
    reason: 'update',
    why: 'The handlers that are due for update are called.',
  },
  {
    id: 8,
    atMs: secondsAgo(127.9),
    type: 'handler',
    handler: 'resize',
    handlerType: 'update',
    retry: 0,
    outcome: 'retrying',
    durationMs: 812,
    delayMs: 60_000,
    error: 'The disk is busy',
  },
  {
    id: 9,
    atMs: secondsAgo(127),
    type: 'event',
    eventType: 'Warning',
    reason: 'Logging',
    message: "Handler 'resize' failed temporarily: The disk is busy",
  },
  {
    id: 10,
    atMs: secondsAgo(126.9),
    type: 'write',
    purpose: 'handling',
    requests: 1,
    changes: [
      { operation: 'change', path: 'status.phase', old: '"Ready"', new: '"Resizing"', by: 'resize' },
      { operation: 'add', path: 'metadata.annotations["kopf.zalando.org/resize"]', new: '"[JSON, 152 characters]"' },
    ],
    moreChanges: 0,
  },
  { id: 11, atMs: secondsAgo(120), type: 'daemon', action: 'fired', handler: 'ping', latenessMs: 3.2 },
  {
    id: 12,
    atMs: secondsAgo(18.8),
    type: 'handler',
    handler: 'resize',
    handlerType: 'update',
    retry: 1,
    outcome: 'retrying',
    durationMs: 790,
    delayMs: 60_000,
    error: 'The disk is busy',
  },
  {
    id: 13,
    atMs: secondsAgo(17.9),
    type: 'child',
    action: 'applied',
    child: { resource: 'services.v1', namespace: 'shop', name: 'orders' },
  },
]

const object: ObjectView = {
  object: {
    ...orders,
    uid: 'uid-orders',
    state: 'retrying',
    why: 'resize: The disk is busy',
    changedAtMs: secondsAgo(128),
    nextAtMs: nowMs + 42_000,
    errors: 2,
  },
  explanation: {
    finalizers: [{ name: 'kopf.zalando.org/KopfFinalizerMarker', isOurs: true }],
    handled: 'changed',
    changes: [{ operation: 'change', field: ['spec', 'storage', 'gigabytes'], old: 50, new: 120 }],
    progress: [
      {
        id: 'resize',
        places: ['kopf.zalando.org/resize'],
        state: 'waiting',
        purpose: 'update',
        retries: 2,
        started: new Date(secondsAgo(128)).toISOString(),
        delayed: new Date(nowMs + 42_000).toISOString(),
        message: 'The disk is busy',
        subhandlers: ['resize/detach'],
      },
      { id: 'resize/detach', places: [], state: 'succeeded', retries: 1, subhandlers: [] },
    ],
    annotations: [],
    reason: 'update',
    decision: { type: 'handle', reason: 'update' },
    handlers: [
      { id: 'provision', kind: 'create', verdict: 'no', why: 'It is for create, and this is update' },
      {
        id: 'resize',
        kind: 'update',
        verdict: 'later',
        why: 'It is called again for update: 2 attempts have failed (The disk is busy)',
        at: new Date(nowMs + 42_000).toISOString(),
      },
      { id: 'archive', kind: 'update', verdict: 'no', why: 'The label "tier" does not match' },
      { id: 'drop', kind: 'delete', verdict: 'later', why: 'It is called when the object is deleted' },
      {
        id: 'ping',
        kind: 'daemon',
        verdict: 'runs',
        why: 'It runs, unless it has ended by itself, which is not stored',
      },
    ],
    reconcilers: [],
    notes: [],
  },
  body: {
    apiVersion: 'example.com/v1',
    kind: 'Database',
    metadata: { name: 'orders', namespace: 'shop', labels: { team: 'checkout' } },
    spec: { engine: 'postgres', storage: { class: 'fast', gigabytes: 120 } },
    status: { phase: 'Resizing', endpoint: 'orders.shop.svc:5432' },
  },
  timeline,
  dropped: 0,
  children: [
    {
      resource: 'deployments.v1.apps',
      namespace: 'shop',
      name: 'orders',
      isReady: false,
      conditions: [
        {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: '1 of 2 replicas is available',
        },
        { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated' },
      ],
    },
    { resource: 'services.v1', namespace: 'shop', name: 'orders', isReady: true, conditions: [] },
    {
      resource: 'persistentvolumeclaims.v1',
      namespace: 'shop',
      name: 'orders-data',
      isReady: true,
      conditions: [{ type: 'Resizing', status: 'True' }],
    },
  ],
  log: [
    { atMs: secondsAgo(3597.4), level: 'info', message: 'Creation is processed: 1 succeeded; 0 failed.' },
    { atMs: secondsAgo(127.1), level: 'warn', message: "Handler 'resize' failed temporarily: The disk is busy" },
    { atMs: secondsAgo(18), level: 'warn', message: "Handler 'resize' failed temporarily: The disk is busy" },
  ],
  actions: ['retry', 'release'],
}

const calls = (fields: Partial<HandlerRow> & Pick<HandlerRow, 'id' | 'type'>): HandlerRow => ({
  resource: databases,
  calls: 0,
  succeeded: 0,
  retrying: 0,
  failed: 0,
  running: 0,
  slowest: [],
  ...fields,
})

const handlers: readonly HandlerRow[] = [
  calls({
    id: 'provision',
    type: 'create',
    calls: 6684,
    succeeded: 6679,
    failed: 2,
    running: 3,
    p50Ms: 1840,
    p99Ms: 4920,
    slowest: [
      { resource: databases, namespace: 'shop', name: 'search-812', durationMs: 9120 },
      { resource: databases, namespace: 'team-blue', name: 'reports-77', durationMs: 7040 },
    ],
    lastError: 'The engine "mysqll" is not known',
    lastErrorAtMs: secondsAgo(610),
  }),
  calls({
    id: 'resize',
    type: 'update',
    calls: 412,
    succeeded: 391,
    retrying: 21,
    p50Ms: 780,
    p99Ms: 2210,
    slowest: [{ ...orders, durationMs: 2310 }],
    lastError: 'The disk is busy',
    lastErrorAtMs: secondsAgo(18),
  }),
  calls({ id: 'drop', type: 'delete', calls: 17, succeeded: 17, p50Ms: 310, p99Ms: 640 }),
  calls({ id: 'ping', type: 'daemon', calls: 6667, succeeded: 0, running: 6667 }),
  calls({ id: 'schedule', type: 'timer', resource: backups, calls: 39_996, succeeded: 39_996, p50Ms: 4.2, p99Ms: 22 }),
  calls({ id: 'store', type: 'reconcile', resource: backups, calls: 3340, succeeded: 3340, p50Ms: 48, p99Ms: 204 }),
]

const views: Omit<Views, 'objects'> = {
  overview,
  object,
  handlers: { handlers },
  requests: {
    total: 61_322,
    perSecond: 8.4,
    rows: [
      { purpose: 'handling', method: 'PATCH', code: '200', count: 27_410, perSecond: 4.1, p50Ms: 6.1, p99Ms: 31 },
      { purpose: 'reconcile', method: 'PATCH', code: '200', count: 20_040, perSecond: 2.9, p50Ms: 7.4, p99Ms: 44 },
      { purpose: 'events', method: 'POST', code: '201', count: 13_201, perSecond: 1.2, p50Ms: 5.2, p99Ms: 22 },
      { purpose: 'lease', method: 'PUT', code: '200', count: 640, perSecond: 0.1, p50Ms: 4.8, p99Ms: 18 },
      { purpose: 'handling', method: 'PATCH', code: '409', count: 14, perSecond: 0, p50Ms: 5.6, p99Ms: 12 },
      { purpose: 'watch', method: 'GET', code: '200', count: 9, perSecond: 0 },
      { purpose: 'client', method: 'GET', code: '403', count: 6, perSecond: 0.1, p50Ms: 3.1, p99Ms: 4 },
      { purpose: 'client', method: 'GET', code: 'error', count: 2, perSecond: 0 },
    ],
  },
  webhooks: {
    state: 'serving',
    handlers: [
      { id: 'check', type: 'validate', reviews: 1180, denials: 7, errors: 0, p50Ms: 1.4, p99Ms: 8.2 },
      { id: 'defaults', type: 'mutate', reviews: 1180, denials: 0, errors: 0, p50Ms: 0.9, p99Ms: 4.1 },
      { id: 'from-v1beta1', type: 'convert', reviews: 24, denials: 0, errors: 1, p50Ms: 2.2, p99Ms: 9.7 },
    ],
    recent: [
      {
        atMs: secondsAgo(4.2),
        type: 'admission',
        handler: 'check',
        resource: databases,
        namespace: 'staging',
        name: 'invoices',
        operation: 'UPDATE',
        allowed: false,
        message: 'spec.storage.gigabytes cannot become smaller: it is 120 now',
        durationMs: 1.8,
      },
      {
        atMs: secondsAgo(9.7),
        type: 'admission',
        handler: 'defaults',
        resource: databases,
        namespace: 'shop',
        name: 'sessions',
        operation: 'CREATE',
        allowed: true,
        durationMs: 0.8,
      },
      { atMs: secondsAgo(64), type: 'conversion', handler: 'from-v1beta1', resource: databases, durationMs: 2.1 },
    ],
  },
  problems: {
    problems: [
      {
        id: 'failed',
        severity: 'error',
        title: 'The handler "provision" has failed permanently for 2 objects: The engine "mysqll" is not known',
        remedy:
          'Correct spec.engine of these objects: a change calls the handler again. Or correct the handler and restart the operator.',
        sinceMs: secondsAgo(610),
        objects: [
          { resource: databases, namespace: 'shop', name: 'orders' },
          { resource: databases, namespace: 'staging', name: 'orders' },
        ],
        moreObjects: 0,
      },
      {
        id: 'forbidden',
        severity: 'error',
        title: 'The API server refuses "get" of secrets in the namespace "shop"',
        remedy:
          'Add a rule with the verb get for secrets to the role of the operator: kopf manifests prints all rules that the operator needs.',
        sinceMs: secondsAgo(240),
        objects: [],
        moreObjects: 0,
      },
      {
        id: 'retrying',
        severity: 'warning',
        title: 'The handler "resize" is being retried for 5 objects: The disk is busy',
        remedy: 'Nothing, if the cause passes. Otherwise look at the timeline of one object, and at its log.',
        sinceMs: secondsAgo(128),
        objects: [orders, { ...orders, namespace: 'team-blue' }, { ...orders, namespace: 'team-green' }],
        moreObjects: 2,
      },
    ],
  },
}

/** The view with this name, as the operator would send it for the query. */
export function sampleView(view: string, query: URLSearchParams): unknown {
  if (view === 'objects') return selectObjects(query)
  return Object.hasOwn(views, view) ? views[view as keyof typeof views] : undefined
}

function selectObjects(query: URLSearchParams): ObjectsView {
  const wanted = (name: string) => query.get(name) ?? ''
  const states = wanted('state') === '' ? undefined : wanted('state').split(',')
  const rows = objects.filter(
    (row) =>
      (states === undefined || states.includes(row.state)) &&
      (wanted('resource') === '' || row.resource === wanted('resource')) &&
      (wanted('namespace') === '' || row.namespace === wanted('namespace')) &&
      `${row.namespace}/${row.name} ${row.why ?? ''}`.includes(wanted('text')),
  )
  const offset = Number(query.get('offset') ?? 0)
  const limit = Math.min(200, Number(query.get('limit') ?? 50))
  return {
    total: rows.length,
    offset,
    rows: rows.slice(offset, offset + limit),
    resources: [databases, backups],
    namespaces,
  }
}
