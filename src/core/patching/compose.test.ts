import { describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { parseObject } from '../../util/lazy-json.ts'
import { planObjectPatch, planStatusPatch } from './compose.ts'

const body = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', uid: 'u1', resourceVersion: '7', finalizers: ['theirs'] },
  spec: { size: 1 },
  status: { phase: 'Old' },
} as unknown as KubeObject
const withoutStatus = { ...body } as Record<string, unknown>
delete withoutStatus['status']

const wish = (merge: JsonObject, ...fns: ((body: KubeObject) => void)[]) => ({ merge, fns })
const uidGuard = { op: 'test', path: '/metadata/uid', value: 'u1' }
const versionGuard = { op: 'test', path: '/metadata/resourceVersion', value: '7' }

describe('the patch of the object', () => {
  test('is a merge patch that a successor of the same name is safe from', () => {
    expect(planObjectPatch(body, wish({ metadata: { labels: { a: 'b' } }, status: { phase: 'New' } }), true)).toEqual({
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid: 'u1', labels: { a: 'b' } } },
    })
  })

  test('has the status in it where that has no endpoint of its own', () => {
    expect(planObjectPatch(body, wish({ status: { phase: 'New' } }), false)?.body).toEqual({
      metadata: { uid: 'u1' },
      status: { phase: 'New' },
    })
  })

  test.each<[string, JsonObject]>([
    ['nothing', {}],
    ['what is there already', { spec: { size: 1 }, metadata: { finalizers: ['theirs'] } }],
    ['the removal of what is not there', { spec: { other: null }, metadata: { annotations: { x: null } } }],
    ['only the status', { status: { phase: 'New' } }],
  ])('is not sent for %s', (_, merge) => {
    const named = { ...body, metadata: { ...body.metadata, annotations: { y: '1' } } }
    expect(planObjectPatch(named, wish(merge), true)).toBeUndefined()
  })

  test('is a JSON patch guarded by the version where functions edit it, with everything else in the same request', () => {
    const block = ({ metadata }: KubeObject) => metadata.finalizers?.push('ours')
    expect(planObjectPatch(body, wish({ metadata: { labels: { a: 'b' } } }, block), true)).toEqual({
      contentType: 'application/json-patch+json',
      body: [
        uidGuard,
        versionGuard,
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
        { op: 'replace', path: '/metadata/finalizers', value: ['theirs', 'ours'] },
      ],
    })
  })

  test('is a plain merge patch where the functions change nothing', () => {
    expect(
      planObjectPatch(
        body,
        wish({ spec: { size: 2 } }, () => {}),
        true,
      )?.contentType,
    ).toBe('application/merge-patch+json')
    expect(
      planObjectPatch(
        body,
        wish({}, () => {}),
        true,
      ),
    ).toBeUndefined()
  })

  test('never edits the body it was planned on', () => {
    const frozen = JSON.stringify(body)
    planObjectPatch(
      body,
      wish({ spec: { size: 2 } }, ({ metadata }) => metadata.finalizers?.push('x')),
      true,
    )
    expect(JSON.stringify(body)).toBe(frozen)
  })
})

describe('the patch of the status', () => {
  test('is a JSON patch guarded by the uid alone where it only sets fields', () => {
    expect(planStatusPatch(body, wish({ status: { phase: 'New', extra: 1 } }))).toEqual({
      contentType: 'application/json-patch+json',
      body: [
        uidGuard,
        { op: 'add', path: '/status/extra', value: 1 },
        { op: 'replace', path: '/status/phase', value: 'New' },
      ],
    })
  })

  test('is guarded by the version too where it makes a stanza: somebody else may be making it', () => {
    expect(planStatusPatch(withoutStatus as unknown as KubeObject, wish({ status: { phase: 'New' } }))?.body).toEqual([
      uidGuard,
      versionGuard,
      { op: 'add', path: '/status', value: { phase: 'New' } },
    ])
  })

  test('is not sent where nothing changes', () => {
    expect(planStatusPatch(body, wish({ status: { phase: 'Old' }, spec: { size: 5 } }))).toBeUndefined()
  })
})

describe('of an object that is kept as text', () => {
  const list = Array.from({ length: 2000 }, (_, index) => ({ index }))
  const whole = { ...body, spec: { size: 1, list } } as unknown as KubeObject
  const lazy = parseObject(JSON.stringify(whole)) as KubeObject
  type Edited = { metadata: { finalizers: string[] }; spec?: { size: number; list: unknown[] }; status: object }
  const edits: ReadonlyArray<[string, JsonObject, (body: Edited) => void]> = [
    ['a finalizer', {}, ({ metadata }) => metadata.finalizers.push('ours')],
    ['a field beside a large list', { metadata: { labels: { a: 'b' } } }, (one) => (one.spec!.size = 2)],
    ['the list itself', { spec: { size: 3 } }, (one) => one.spec!.list.pop()],
    ['a large member as a whole', {}, (one) => delete one.spec],
    ['the status', { status: { phase: 'New' } }, (one) => Object.assign(one.status, { more: 1 })],
    ['nothing', { spec: { size: 4 } }, (one) => void one.spec!.list.length],
  ]

  test.each(edits)('the patches that change %s are those of the parsed object', (_, merge, fn) => {
    const wanted = wish(merge, fn as never)
    expect(planObjectPatch(lazy, wanted, true)).toEqual(planObjectPatch(whole, wanted, true))
    expect(planObjectPatch(lazy, wanted, false)).toEqual(planObjectPatch(whole, wanted, false))
    expect(planStatusPatch(lazy, wanted)).toEqual(planStatusPatch(whole, wanted))
    expect(lazy).toEqual(whole)
  })
})
