import { describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { parseObject } from '../util/json/lazy-json.ts'
import { planObjectPatch, planStatusPatch } from './plan-patch.ts'

const body = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', uid: 'u1', resourceVersion: '7', finalizers: ['theirs'] },
  spec: { size: 1 },
  status: { phase: 'Old' },
} as unknown as KubeObject
const withoutStatus = { ...body } as Record<string, unknown>
delete withoutStatus['status']

const pending = (merge: JsonObject, ...fns: ((body: KubeObject) => void)[]) => ({ merge, fns })
const uidGuard = { op: 'test', path: '/metadata/uid', value: 'u1' }
const versionGuard = { op: 'test', path: '/metadata/resourceVersion', value: '7' }

describe('patch of the object', () => {
  test('the patch of the object is a merge patch with the uid, so that it never applies to a successor with the same name', () => {
    expect(
      planObjectPatch(body, pending({ metadata: { labels: { a: 'b' } }, status: { phase: 'New' } }), true),
    ).toEqual({
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid: 'u1', labels: { a: 'b' } } },
    })
  })

  test('the patch of the object contains the status if the resource has no status subresource', () => {
    expect(planObjectPatch(body, pending({ status: { phase: 'New' } }), false)?.body).toEqual({
      metadata: { uid: 'u1' },
      status: { phase: 'New' },
    })
  })

  test.each<[string, JsonObject]>([
    ['an empty patch', {}],
    ['values that the object already has', { spec: { size: 1 }, metadata: { finalizers: ['theirs'] } }],
    [
      'the removal of fields that the object does not have',
      { spec: { other: null }, metadata: { annotations: { x: null } } },
    ],
    ['the status alone', { status: { phase: 'New' } }],
  ])('the patch of the object is not sent for %s', (_, merge) => {
    const named = { ...body, metadata: { ...body.metadata, annotations: { y: '1' } } }
    expect(planObjectPatch(named, pending(merge), true)).toBeUndefined()
  })

  test('the patch of the object is a JSON patch guarded by the version if functions edit it, with everything else in the same request', () => {
    const block = ({ metadata }: KubeObject) => metadata.finalizers?.push('ours')
    expect(planObjectPatch(body, pending({ metadata: { labels: { a: 'b' } } }, block), true)).toEqual({
      contentType: 'application/json-patch+json',
      body: [
        uidGuard,
        versionGuard,
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
        { op: 'replace', path: '/metadata/finalizers', value: ['theirs', 'ours'] },
      ],
    })
  })

  test('the patch of the object is a plain merge patch if the functions change nothing', () => {
    expect(
      planObjectPatch(
        body,
        pending({ spec: { size: 2 } }, () => {}),
        true,
      )?.contentType,
    ).toBe('application/merge-patch+json')
    expect(
      planObjectPatch(
        body,
        pending({}, () => {}),
        true,
      ),
    ).toBeUndefined()
  })

  test('the patch of the object never changes the body it was planned on', () => {
    const frozen = JSON.stringify(body)
    planObjectPatch(
      body,
      pending({ spec: { size: 2 } }, ({ metadata }) => metadata.finalizers?.push('x')),
      true,
    )
    expect(JSON.stringify(body)).toBe(frozen)
  })
})

describe('patch of the status', () => {
  test('the patch of the status is a JSON patch guarded by the uid alone if it only sets fields', () => {
    expect(planStatusPatch(body, pending({ status: { phase: 'New', extra: 1 } }))).toEqual({
      contentType: 'application/json-patch+json',
      body: [
        uidGuard,
        { op: 'add', path: '/status/extra', value: 1 },
        { op: 'replace', path: '/status/phase', value: 'New' },
      ],
    })
  })

  test('the patch of the status is also guarded by the version if it creates the stanza, since another writer may create it', () => {
    expect(
      planStatusPatch(withoutStatus as unknown as KubeObject, pending({ status: { phase: 'New' } }))?.body,
    ).toEqual([uidGuard, versionGuard, { op: 'add', path: '/status', value: { phase: 'New' } }])
  })

  test('the patch of the status is not sent if nothing changes', () => {
    expect(planStatusPatch(body, pending({ status: { phase: 'Old' }, spec: { size: 5 } }))).toBeUndefined()
  })
})

describe('patches of unparsed objects', () => {
  const list = Array.from({ length: 2000 }, (_, index) => ({ index }))
  const whole = { ...body, spec: { size: 1, list } } as unknown as KubeObject
  const lazy = parseObject(JSON.stringify(whole)) as KubeObject
  type Edited = { metadata: { finalizers: string[] }; spec?: { size: number; list: unknown[] }; status: object }
  const edits: ReadonlyArray<[string, JsonObject, (body: Edited) => void]> = [
    ['a finalizer', {}, ({ metadata }) => metadata.finalizers.push('ours')],
    ['a field beside a large list', { metadata: { labels: { a: 'b' } } }, (one) => (one.spec!.size = 2)],
    ['the list itself', { spec: { size: 3 } }, (one) => one.spec!.list.pop()],
    ['a large field as a whole', {}, (one) => delete one.spec],
    ['the status', { status: { phase: 'New' } }, (one) => Object.assign(one.status, { more: 1 })],
    ['nothing', { spec: { size: 4 } }, (one) => void one.spec!.list.length],
  ]

  test.each(edits)(
    'the patches of an unparsed object that change %s are the same as of the parsed object',
    (_, merge, fn) => {
      const wanted = pending(merge, fn as never)
      expect(planObjectPatch(lazy, wanted, true)).toEqual(planObjectPatch(whole, wanted, true))
      expect(planObjectPatch(lazy, wanted, false)).toEqual(planObjectPatch(whole, wanted, false))
      expect(planStatusPatch(lazy, wanted)).toEqual(planStatusPatch(whole, wanted))
      expect(lazy).toEqual(whole)
    },
  )
})
