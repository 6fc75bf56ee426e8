/** Gadgets of a given size, and admission reviews of their updates like an API server posts them. */
import { bodyOf, group, plural } from '../lib/schemaless-gadgets.ts'

/** An object of about `bytes` bytes. Its spec is filled with small entries, which cost more to parse than long strings. */
export function gadgetOf(name: string, size: number, bytes: number): string {
  const smallest = bodyOf(name, size)
  const count = Math.max(0, Math.floor((bytes - smallest.length) / entryOf(0).length))
  if (count === 0) return smallest
  return smallest.replace(
    /\}\}$/,
    `,"entries":[${Array.from({ length: count }, (_, index) => entryOf(index)).join()}]}}`,
  )
}

/** 100 bytes and a comma. */
function entryOf(index: number): string {
  const number = String(index).padStart(6, '0')
  return `{"name":"entry-${number}","value":"the value of ${number}","enabled":true,"weight":1,"tags":["a-tag"]}`
}

export function reviewOf(bytes: number): string {
  const kind = { group, version: 'v1', kind: 'Gadget' }
  const resource = { group, version: 'v1', resource: plural }
  const object = JSON.parse(gadgetOf('reviewed', 2, bytes)) as { metadata: object }
  const oldObject = JSON.parse(gadgetOf('reviewed', 1, bytes)) as { metadata: object }
  const known = { namespace: 'default', uid: '8c3ba3a1-5b41-4bdc-9a2c-0c5d2ae0d1f3', generation: 2 }
  for (const one of [object, oldObject]) Object.assign(one.metadata, known)
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: 'd595e125-2f6e-4b5b-9e9c-5c21dc7cbc32',
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: 'reviewed',
      namespace: 'default',
      operation: 'UPDATE',
      userInfo: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
      object,
      oldObject,
      dryRun: false,
      options: { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'bench' },
    },
  })
}
