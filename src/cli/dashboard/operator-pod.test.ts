import { describe, expect, test } from 'vitest'
import { choosePod, type PodChoice } from './operator-pod.ts'

interface PodOptions {
  readonly operator?: string
  readonly phase?: string
  readonly isReady?: boolean
  readonly created?: string
  readonly isDeleted?: boolean
  readonly port?: string
}

function pod(name: string, options: PodOptions = {}): Parameters<typeof choosePod>[0][number] {
  const { operator = 'widgets', phase = 'Running', isReady = true, created = '2026-01-01T00:00:00Z' } = options
  return {
    metadata: {
      name,
      creationTimestamp: created,
      labels: { 'app.kubernetes.io/name': operator },
      ...(options.isDeleted ? { deletionTimestamp: created } : {}),
    },
    spec: {
      containers: [
        { name: 'sidecar' },
        { name: 'operator', ports: [{ name: options.port ?? 'dashboard', containerPort: 8444 }] },
      ],
    },
    status: { phase, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  }
}

const choice: PodChoice = { namespace: 'operators' }
const choose = (pods: Parameters<typeof choosePod>[0], holders: string[] = [], given: Partial<PodChoice> = {}) =>
  choosePod(pods, new Set(holders), { ...choice, ...given })

describe('the pod of an operator', () => {
  test('a single pod is chosen with the container port of the dashboard', () => {
    expect(choose([pod('one')])).toEqual({
      namespace: 'operators',
      name: 'one',
      scheme: 'https',
      port: 8444,
      role: 'only',
    })
  })

  test.each<[string, Parameters<typeof choosePod>[0], string[], string, string]>([
    ['the holder of a Lease', [pod('a'), pod('b', { isReady: false })], ['b'], 'b', 'leader'],
    ['a ready pod', [pod('a', { isReady: false }), pod('b')], ['x'], 'b', 'unknown'],
    ['the newest pod', [pod('a'), pod('b', { created: '2026-02-01T00:00:00Z' })], [], 'b', 'unknown'],
    [
      'a pod that is not being deleted',
      [pod('a', { isDeleted: true }), pod('b', { isReady: false })],
      ['a'],
      'b',
      'only',
    ],
    ['a pod that runs', [pod('a', { phase: 'Pending' }), pod('b')], [], 'b', 'only'],
  ])('%s is chosen', (_, pods, holders, name, role) => {
    expect(choose(pods, holders)).toMatchObject({ name, role })
  })

  test.each<[string, Parameters<typeof choosePod>[0], Partial<PodChoice>, RegExp]>([
    ['no pod', [], {}, /^no pod has the labels app\.kubernetes\.io\/component=operator, .* --namespace/],
    ['no pod with the labels', [], { selector: 'app=x' }, /^no pod has the labels app=x; name others with --selector/],
    [
      'no pod that runs',
      [pod('a', { phase: 'Pending' })],
      {},
      /^no pod of it is running: "Pending"; .* "kubectl get pods -n operators"/,
    ],
    [
      'several operators',
      [pod('a'), pod('b', { operator: 'other' })],
      {},
      /^there are several operators: "other", "widgets"/,
    ],
    [
      'no port',
      [pod('a', { port: 'health' })],
      {},
      /^its pod "a" has no port with the name "dashboard"; .* --pod-port/,
    ],
  ])('for %s, the reason says what to do', (_, pods, given, problem) => {
    expect(choose(pods, [], given)).toEqual({ problem: expect.stringMatching(problem) })
  })

  test('with labels of the user, pods may have any names, and with a port any ports', () => {
    const pods = [pod('a', { port: 'health' }), pod('b', { operator: 'other', port: 'health' })]
    const port = { scheme: 'http', port: 80 } as const
    expect(choose(pods, [], { selector: 'app=x', port })).toMatchObject({ scheme: 'http', port: 80 })
  })

  test('a pod without any fields is no reason to fail', () => {
    expect(choose([{}, { metadata: [], spec: 3, status: null }])).toEqual({
      problem: expect.stringContaining('"Unknown"'),
    })
  })
})
