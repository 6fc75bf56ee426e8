/** The conditions of a pod, with the kubelet's reasons and messages. Pure. */
import { setCondition } from './conditions.ts'
import type { Pod, StatusCondition } from './shapes.ts'

interface PodReadiness {
  readonly isStarted: boolean
  readonly isReady: boolean
  readonly nowMs: number
}

export function podConditions(pod: Pod, { isStarted, isReady, nowMs }: PodReadiness): readonly StatusCondition[] {
  const { phase, conditions = [] } = pod.status
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const because = isReady ? {} : reasonOf(pod, phase)
  const gate = isReady ? unmetReadinessGate(pod) : undefined
  const isTrue = (is: boolean) => (is ? 'True' : 'False')
  const own: readonly StatusCondition[] = [
    { type: 'PodReadyToStartContainers', status: isTrue(isStarted && !isOver) },
    { type: 'Initialized', status: isTrue(isStarted) },
    { type: 'Ready', status: isTrue(isReady && gate === undefined), ...because, ...gate },
    { type: 'ContainersReady', status: isTrue(isReady), ...because },
    { type: 'PodScheduled', status: 'True' },
  ]
  const known = own.reduce((list, condition) => setCondition(list, condition, nowMs), conditions)
  const ofOthers = known.filter(({ type }) => !own.some((one) => one.type === type))
  return [...own.map(({ type }) => known.find((one) => one.type === type)!), ...ofOthers]
}

function reasonOf({ spec }: Pod, phase: string): Partial<StatusCondition> {
  if (phase === 'Succeeded') return { reason: 'PodCompleted' }
  if (phase === 'Failed') return { reason: 'PodFailed' }
  const names = spec.containers.map(({ name }) => name).join(' ')
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${names}]` }
}

/** Reason and message of the Ready condition if a readiness gate of the pod is not true; otherwise undefined. */
function unmetReadinessGate({ spec, status }: Pod): Partial<StatusCondition> | undefined {
  const closed = spec.readinessGates?.find(
    ({ conditionType }) => status.conditions?.find(({ type }) => type === conditionType)?.status !== 'True',
  )
  if (closed === undefined) return undefined
  const isThere = status.conditions?.some(({ type }) => type === closed.conditionType)
  const what = `corresponding condition of pod readiness gate "${closed.conditionType}"`
  const message = `${what} ${isThere ? 'does not have a status of "True"' : 'does not exist'}.`
  return { reason: 'ReadinessGatesNotReady', message }
}
