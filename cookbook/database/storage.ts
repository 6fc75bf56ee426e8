/** The data volume: the claim that the StatefulSet controller creates grows with `spec.storage`, and never shrinks. */
import { type Client, isForbidden, isUnprocessable } from 'kopf'
import { PersistentVolumeClaim } from 'kopf/kubernetes'
import { databaseLabel } from './names.ts'

export type StoragePlan =
  | { readonly type: 'missing' | 'fits' }
  | { readonly type: 'grow' | 'growing'; readonly to: string }
  | { readonly type: 'refused'; readonly reason: string; readonly message: string }

const units: Readonly<Record<string, number>> = {
  ...{ '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 },
}

/** The API server writes quantities in their shortest form: "1024Gi" comes back as "1Ti". So quantities are compared by their bytes. */
export function toBytes(quantity: string | number): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([kMGTP]|[KMGTP]i)?$/.exec(String(quantity)) ?? []
  return number === '' ? Number.NaN : Number(number) * (units[unit] ?? Number.NaN)
}

/** Compares the claim with the desired size. A claim without the label of the database is not the operator's, and stays as it is. */
export function planStorage(claim: PersistentVolumeClaim | undefined, name: string, desired: string): StoragePlan {
  const requested = claim?.spec?.resources?.requests?.['storage']
  if (claim?.metadata?.labels?.[databaseLabel] !== name || requested === undefined) return { type: 'missing' }
  if (toBytes(requested) > toBytes(desired)) {
    const message = `The volume has ${requested}, and spec.storage is ${desired}: Kubernetes cannot shrink volumes`
    return { type: 'refused', reason: 'ShrinkRefused', message }
  }
  if (toBytes(requested) < toBytes(desired)) return { type: 'grow', to: desired }
  const capacity = claim.status?.capacity?.['storage']
  if (capacity !== undefined && toBytes(capacity) < toBytes(desired)) return { type: 'growing', to: desired }
  return { type: 'fits' }
}

/** Requests the new size. The plan that is returned says how that went. */
export async function growStorage(client: Client, claim: string, to: string): Promise<StoragePlan> {
  try {
    await client.patch(PersistentVolumeClaim, claim, { spec: { resources: { requests: { storage: to } } } })
    return { type: 'growing', to }
  } catch (error) {
    // For example, the storage class does not allow it, or the claim is not bound yet.
    if (isForbidden(error) || isUnprocessable(error)) {
      return { type: 'refused', reason: 'ResizeRefused', message: `The volume cannot grow to ${to}: ${error.message}` }
    }
    throw error
  }
}
