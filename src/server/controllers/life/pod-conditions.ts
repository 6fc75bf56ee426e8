/** The conditions of a pod, in the words of a kubelet. Pure. */
import { setCondition } from './conditions.ts'
import type { Condition, Pod } from './shapes.ts'

interface State {
  readonly isStarted: boolean
  readonly isReady: boolean
  readonly nowMs: number
}

export function podConditions(pod: Pod, { isStarted, isReady, nowMs }: State): readonly Condition[] {
  const { phase, conditions = [] } = pod.status
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const because = isReady ? {} : reasonOf(pod, phase)
  const gate = isReady ? closedGate(pod) : undefined
  const isTrue = (is: boolean) => (is ? 'True' : 'False')
  const told: readonly Condition[] = [
    { type: 'PodReadyToStartContainers', status: isTrue(isStarted && !isOver) },
    { type: 'Initialized', status: isTrue(isStarted) },
    { type: 'Ready', status: isTrue(isReady && gate === undefined), ...because, ...gate },
    { type: 'ContainersReady', status: isTrue(isReady), ...because },
    { type: 'PodScheduled', status: 'True' },
  ]
  const known = told.reduce((list, condition) => setCondition(list, condition, nowMs), conditions)
  const ofOthers = known.filter(({ type }) => !told.some((one) => one.type === type))
  return [...told.map(({ type }) => known.find((one) => one.type === type)!), ...ofOthers]
}

function reasonOf({ spec }: Pod, phase: string): Partial<Condition> {
  if (phase === 'Succeeded') return { reason: 'PodCompleted' }
  if (phase === 'Failed') return { reason: 'PodFailed' }
  const names = spec.containers.map(({ name }) => name).join(' ')
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${names}]` }
}

/** Somebody else has a say in whether the pod is ready, and has not said so. */
function closedGate({ spec, status }: Pod): Partial<Condition> | undefined {
  const closed = spec.readinessGates?.find(
    ({ conditionType }) => status.conditions?.find(({ type }) => type === conditionType)?.status !== 'True',
  )
  if (closed === undefined) return undefined
  const isThere = status.conditions?.some(({ type }) => type === closed.conditionType)
  const what = `corresponding condition of pod readiness gate "${closed.conditionType}"`
  const message = `${what} ${isThere ? 'does not have a status of "True"' : 'does not exist'}.`
  return { reason: 'ReadinessGatesNotReady', message }
}
