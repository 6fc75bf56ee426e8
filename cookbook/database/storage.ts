/** The data volume: the claim that the StatefulSet controller creates grows with `spec.storage`, and never shrinks. */
import { type Client, isForbidden, isUnprocessable } from 'kopf'
import { PersistentVolumeClaim } from 'kopf/kubernetes'
import { find } from './credentials.ts'
import { claimName, databaseLabel } from './names.ts'

/** The decision about the claim, with its reason. */
type Plan =
  | { readonly type: 'missing' | 'fits' }
  | { readonly type: 'grow' | 'growing'; readonly to: string }
  | { readonly type: 'refused'; readonly reason: string; readonly message: string }

/** The state of the volume: its capacity, and the condition of the database about it. Both are undefined while there is no claim. */
export interface Storage {
  readonly capacity: string | undefined
  readonly condition: { readonly status: boolean; readonly reason: string; readonly message?: string } | undefined
}

/** Grows the claim if `spec.storage` has become larger. */
export async function resizeStorage(client: Client, name: string, desired: string): Promise<Storage> {
  const claim = await find(client.get(PersistentVolumeClaim, claimName(name)))
  const plan = planResize(claim, name, desired)
  const result = plan.type === 'grow' ? await grow(client, claimName(name), plan.to) : plan
  return { capacity: claim?.status?.capacity?.['storage']?.toString(), condition: toCondition(result) }
}

function toCondition(plan: Plan): Storage['condition'] {
  switch (plan.type) {
    case 'missing':
      return undefined
    case 'fits':
      return { status: true, reason: 'AsRequested' }
    case 'grow':
    case 'growing':
      return { status: false, reason: 'Growing', message: `The volume is growing to ${plan.to}` }
    case 'refused':
      return { status: false, reason: plan.reason, message: plan.message }
  }
}

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
function planResize(claim: PersistentVolumeClaim | undefined, name: string, desired: string): Plan {
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

/** Requests the new size. */
async function grow(client: Client, claim: string, to: string): Promise<Plan> {
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
