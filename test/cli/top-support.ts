/** Views of an operator, for tests of `kopf top`. */
import type { TopSnapshot } from '../../src/cli/top/top-snapshot.ts'
import type { HandlerRow, ObjectRow, ObjectState, Sample } from '../../src/dashboard/protocol.ts'

export const nowMs: number = Date.UTC(2026, 10, 20, 3, 0, 0)

function states(counts: Partial<Record<ObjectState, number>>): Record<ObjectState, number> {
  return { failed: 0, retrying: 0, handling: 0, waiting: 0, deleting: 0, handled: 0, ...counts }
}

export function objectRow(row: Partial<ObjectRow>): ObjectRow {
  return {
    resource: 'databases.v1.example.com',
    namespace: 'shop',
    name: 'orders',
    state: 'retrying',
    errors: 1,
    ...row,
  }
}

export function handlerRow(row: Partial<HandlerRow>): HandlerRow {
  const counts = { calls: 10, succeeded: 10, retrying: 0, failed: 0, running: 0 }
  return { id: 'provision', type: 'create', resource: 'databases.v1.example.com', ...counts, slowest: [], ...row }
}

function sample(index: number): Sample {
  return {
    atMs: nowMs - (60 - index) * 5000,
    events: index % 7,
    handlerCalls: index % 5,
    handlerErrors: index % 30 === 0 ? 1 : 0,
    requests: (index * 3) % 11,
    queue: 0,
    lagMs: 2,
  }
}

/** An operator at three in the morning. */
export function snapshotOf(changes: Partial<TopSnapshot> = {}): TopSnapshot {
  return {
    overview: {
      operator: {
        name: 'database-operator',
        version: '0.1.0',
        node: '22.12.0',
        server: 'https://10.96.0.1',
        startedAtMs: nowMs - 7_500_000,
        phase: 'running',
        leader: 'leading',
        isPaused: false,
        pausedNamespaces: [],
      },
      readiness: { ready: true, checks: { watches: { ok: true } } },
      resources: [
        {
          resource: 'databases.v1.example.com',
          kind: 'Database',
          states: states({ failed: 1, retrying: 2, handling: 1, waiting: 3, deleting: 1, handled: 1204 }),
          handlers: [{ id: 'provision', type: 'create' }],
          streams: { open: 1, down: 0, restarts: 0, silenceSeconds: 2 },
        },
        {
          resource: 'secrets.v1',
          kind: 'Secret',
          handlers: [{ id: 'rotate', type: 'timer' }],
          streams: { open: 0, down: 1, restarts: 4 },
        },
      ],
      queue: { waiting: 3, active: 1, longestWaitSeconds: 0.4 },
      eventLoop: { lagMs: 3.2 },
      memory: { rssBytes: 96 * 2 ** 20, heapBytes: 40 * 2 ** 20 },
      daemons: 2,
      problems: 1,
      history: Array.from({ length: 60 }, (_, index) => sample(index)),
    },
    problems: {
      problems: [
        {
          id: 'stream-secrets',
          severity: 'error',
          title: 'The watch of secrets.v1 is down.',
          remedy: 'Look for "forbidden" in the log of the operator.',
          objects: [],
          moreObjects: 0,
        },
      ],
    },
    handlers: {
      handlers: [
        handlerRow({ id: 'provision', calls: 1215, succeeded: 1204, retrying: 10, failed: 1, p50Ms: 48, p99Ms: 1860 }),
        handlerRow({
          id: 'rotate',
          type: 'timer',
          resource: 'secrets.v1',
          calls: 6320,
          running: 1,
          p50Ms: 3,
          p99Ms: 21,
        }),
        handlerRow({ id: 'drop', type: 'delete', calls: 14, p50Ms: 510, p99Ms: 905 }),
      ],
    },
    requests: { total: 10_234, perSecond: 4.25, rows: [] },
    objects: {
      total: 3,
      offset: 0,
      rows: [
        objectRow({ name: 'orders', state: 'failed', errors: 1, why: 'The plan "huge" does not exist' }),
        objectRow({
          name: 'carts',
          errors: 4,
          nextAtMs: nowMs + 48_000,
          why: 'The server of the databases does not answer',
        }),
        objectRow({ namespace: 'billing', name: 'invoices', errors: 1, nextAtMs: nowMs - 10, why: 'Not ready yet' }),
      ],
      resources: ['databases.v1.example.com'],
      namespaces: ['billing', 'shop'],
    },
    ...changes,
  }
}
