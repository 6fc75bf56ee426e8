/** The diagrams of the manual. `npm run docs:generate` writes them to docs/diagrams. */
import type { Diagram } from './svg.ts'

const howItWorks: Diagram = {
  name: 'how-it-works',
  title: 'How an operator works',
  description:
    'A user applies an object. The API server stores it and sends a watch event. kopf queues one worker per object, detects what has changed, and calls your handlers. The patch, the results and the progress go back to the object in one write.',
  width: 760,
  height: 330,
  legend: ['you', 'kopf', 'cluster'],
  boxes: [
    { x: 24, y: 40, width: 140, height: 56, text: 'User\nkubectl apply', role: 'cluster' },
    { x: 24, y: 210, width: 140, height: 76, text: 'API server\nobjects in etcd', role: 'cluster' },
    { x: 250, y: 24, width: 486, height: 280, text: 'The operator process', role: 'lane' },
    { x: 274, y: 212, width: 130, height: 72, text: 'Watch\none queue and\nworker per object', role: 'kopf' },
    {
      x: 274,
      y: 70,
      width: 130,
      height: 72,
      text: 'Find the cause\ncreated, changed,\ndeleted, resumed',
      role: 'kopf',
    },
    { x: 444, y: 70, width: 128, height: 72, text: 'Select handlers\nfilters, progress,\nretries due', role: 'kopf' },
    { x: 610, y: 70, width: 106, height: 72, text: 'Handlers\non.create, …', role: 'you' },
    {
      x: 500,
      y: 212,
      width: 216,
      height: 72,
      text: 'One patch\nstatus, results, progress,\nfinalizer, last handled state',
      role: 'kopf',
    },
  ],
  arrows: [
    {
      points: [
        [94, 96],
        [94, 210],
      ],
      label: 'object',
      at: [102, 158],
      anchor: 'start',
    },
    {
      points: [
        [164, 232],
        [274, 232],
      ],
      label: 'watch event',
      at: [208, 222],
    },
    {
      points: [
        [339, 212],
        [339, 142],
      ],
    },
    {
      points: [
        [404, 106],
        [444, 106],
      ],
    },
    {
      points: [
        [572, 106],
        [610, 106],
      ],
    },
    {
      points: [
        [662, 142],
        [662, 212],
      ],
      label: 'return, patch, error',
      at: [652, 182],
      anchor: 'end',
    },
    {
      points: [
        [500, 268],
        [470, 268],
        [470, 316],
        [94, 316],
        [94, 286],
      ],
      label: 'write',
      at: [208, 309],
    },
  ],
}

const causes: Diagram = {
  name: 'causes',
  title: 'Which handlers a change calls',
  description:
    'For every watch event, on.event handlers are called. Then: if the object is being deleted, on.delete handlers are called. If it has no last handled state, on.create. If its spec, labels or annotations differ from the last handled state, on.update and on.field. If it is seen for the first time since the operator started, on.resume as well. Otherwise nothing is called.',
  width: 760,
  height: 392,
  boxes: [
    { x: 24, y: 24, width: 200, height: 44, text: 'Watch event for an object', role: 'cluster' },
    { x: 500, y: 24, width: 236, height: 44, text: 'on.event, always', role: 'you' },
    { x: 24, y: 100, width: 300, height: 44, text: 'deletionTimestamp is set?', role: 'question' },
    { x: 500, y: 100, width: 236, height: 44, text: 'on.delete', role: 'you' },
    { x: 24, y: 176, width: 300, height: 44, text: 'no last handled state on the object?', role: 'question' },
    { x: 500, y: 176, width: 236, height: 44, text: 'on.create, and on.field', role: 'you' },
    { x: 24, y: 252, width: 300, height: 44, text: 'spec, labels or annotations differ?', role: 'question' },
    { x: 500, y: 252, width: 236, height: 44, text: 'on.update, and on.field', role: 'you' },
    { x: 24, y: 328, width: 300, height: 44, text: 'and: first time seen since the start?', role: 'question' },
    { x: 500, y: 328, width: 236, height: 44, text: 'on.resume', role: 'you' },
  ],
  arrows: [
    {
      points: [
        [224, 46],
        [500, 46],
      ],
    },
    {
      points: [
        [124, 68],
        [124, 100],
      ],
    },
    ...[122, 198, 274, 350].map((y) => ({
      points: [
        [324, y],
        [500, y],
      ] as const,
      label: 'yes',
      at: [412, y - 7] as const,
    })),
    ...[144, 220, 296].map((y) => ({
      points: [
        [124, y],
        [124, y + 32],
      ] as const,
      label: 'no',
      at: [134, y + 20] as const,
      anchor: 'start' as const,
    })),
  ],
}

const handlerLife: Diagram = {
  name: 'handler-life',
  title: 'The life of a handler call, with retries',
  description:
    'A handler is called. If it returns, it has succeeded and its result is written. If it throws TemporaryError or another error, it waits for the delay or the backoff and is called again. If it throws PermanentError, or its retries or its timeout are used up, it has failed and is not called again for this change. Each outcome is stored on the object.',
  width: 760,
  height: 300,
  boxes: [
    { x: 24, y: 116, width: 130, height: 56, text: 'Due\nfirst call or retry', role: 'kopf' },
    { x: 200, y: 116, width: 130, height: 56, text: 'Handler is called', role: 'you' },
    { x: 530, y: 40, width: 180, height: 56, text: 'Waiting\nretry time on the object', role: 'question' },
    { x: 530, y: 116, width: 180, height: 56, text: 'Succeeded\nresult in status', role: 'good' },
    { x: 530, y: 220, width: 180, height: 56, text: 'Failed\nnot called again', role: 'bad' },
  ],
  arrows: [
    {
      points: [
        [154, 144],
        [200, 144],
      ],
    },
    {
      points: [
        [330, 130],
        [366, 130],
        [366, 68],
        [530, 68],
      ],
      label: 'TemporaryError, Error',
      at: [450, 60],
    },
    {
      points: [
        [330, 144],
        [530, 144],
      ],
      label: 'returns',
      at: [450, 137],
    },
    {
      points: [
        [330, 158],
        [366, 158],
        [366, 248],
        [530, 248],
      ],
      label: 'PermanentError',
      at: [450, 240],
    },
    {
      points: [
        [710, 68],
        [736, 68],
        [736, 248],
        [710, 248],
      ],
      label: 'retries or timeout used up',
      at: [726, 200],
      anchor: 'end',
    },
    {
      points: [
        [620, 40],
        [620, 20],
        [89, 20],
        [89, 116],
      ],
      label: 'after the delay, or at the next start of the operator',
      at: [100, 38],
      anchor: 'start',
    },
  ],
}

const deletion: Diagram = {
  name: 'deletion',
  title: 'Finalizers and deletion',
  description:
    'When an object with an on.delete handler is created, the operator adds a finalizer. kubectl delete only sets the deletion timestamp. The operator calls the on.delete handlers, retrying them on errors. When they have succeeded or failed permanently, it removes the finalizer, and Kubernetes deletes the object.',
  width: 760,
  height: 260,
  legend: ['you', 'kopf', 'cluster'],
  boxes: [
    { x: 24, y: 44, width: 150, height: 60, text: 'Object is created', role: 'cluster' },
    { x: 214, y: 44, width: 150, height: 60, text: 'Finalizer added\nbefore handlers run', role: 'kopf' },
    { x: 404, y: 44, width: 150, height: 60, text: 'kubectl delete\nsets the timestamp', role: 'cluster' },
    { x: 594, y: 44, width: 142, height: 60, text: 'on.delete', role: 'you' },
    { x: 594, y: 168, width: 142, height: 60, text: 'Finalizer removed', role: 'kopf' },
    { x: 404, y: 168, width: 150, height: 60, text: 'Object is deleted\nchildren with it', role: 'cluster' },
  ],
  arrows: [
    {
      points: [
        [174, 74],
        [214, 74],
      ],
    },
    {
      points: [
        [364, 74],
        [404, 74],
      ],
    },
    {
      points: [
        [554, 74],
        [594, 74],
      ],
    },
    {
      points: [
        [665, 104],
        [665, 168],
      ],
      label: 'succeeded, or\nfailed permanently',
      at: [655, 132],
      anchor: 'end',
    },
    {
      points: [
        [594, 198],
        [554, 198],
      ],
    },
    {
      points: [
        [640, 44],
        [640, 20],
        [700, 20],
        [700, 44],
      ],
      label: 'retry on errors',
      at: [630, 28],
      anchor: 'end',
    },
  ],
}

const reconcile: Diagram = {
  name: 'reconcile',
  title: 'How reconcile works',
  description:
    'A change of the object, a change of a child, or the resync interval calls your function. It returns the desired children. kopf compares them with the existing children: missing or drifted children are applied, children that are no longer desired are deleted, and equal children cost no request. The status and the condition ChildrenApplied are written.',
  width: 760,
  height: 330,
  legend: ['you', 'kopf', 'cluster'],
  boxes: [
    { x: 24, y: 30, width: 150, height: 48, text: 'The object changes', role: 'cluster' },
    { x: 24, y: 98, width: 150, height: 48, text: 'A child changes', role: 'cluster' },
    { x: 24, y: 166, width: 150, height: 48, text: 'Resync interval', role: 'kopf' },
    { x: 236, y: 86, width: 150, height: 72, text: 'Your function\nreturns the desired\nchildren', role: 'you' },
    { x: 446, y: 86, width: 110, height: 72, text: 'Compare\nwith the cache', role: 'kopf' },
    { x: 612, y: 24, width: 124, height: 44, text: 'missing: apply', role: 'kopf' },
    { x: 612, y: 80, width: 124, height: 44, text: 'drifted: apply', role: 'kopf' },
    { x: 612, y: 136, width: 124, height: 44, text: 'extra: delete', role: 'kopf' },
    { x: 612, y: 192, width: 124, height: 44, text: 'equal: nothing', role: 'kopf' },
    {
      x: 236,
      y: 236,
      width: 320,
      height: 60,
      text: 'Status is written\nyour patch, condition ChildrenApplied',
      role: 'kopf',
    },
  ],
  arrows: [
    {
      points: [
        [174, 54],
        [205, 54],
        [205, 110],
        [236, 110],
      ],
    },
    {
      points: [
        [174, 122],
        [236, 122],
      ],
    },
    {
      points: [
        [174, 190],
        [205, 190],
        [205, 134],
        [236, 134],
      ],
    },
    {
      points: [
        [386, 122],
        [446, 122],
      ],
    },
    ...[46, 102, 158, 214].map((y) => ({
      points: [
        [556, 122],
        [584, 122],
        [584, y],
        [612, y],
      ] as const,
    })),
    {
      points: [
        [501, 158],
        [501, 236],
      ],
    },
    {
      points: [
        [736, 46],
        [748, 46],
        [748, 318],
        [12, 318],
        [12, 122],
        [24, 122],
      ],
      dashed: true,
      label: 'each write is a watch event: the loop ends when nothing differs',
      at: [380, 312],
    },
  ],
}

const daemonStop: Diagram = {
  name: 'daemon-stop',
  title: 'How a daemon stops',
  description:
    'A daemon stops when its object is deleted, when its filters no longer match, or when the operator exits or pauses. First stopped is set. The daemon has the cancellationBackoff to end. Then, with a cancellationTimeout, its signal is aborted, and it has that long to end. After that it is abandoned with a warning, and the finalizer is removed.',
  width: 760,
  height: 300,
  legend: ['you', 'kopf'],
  boxes: [
    {
      x: 24,
      y: 30,
      width: 136,
      height: 108,
      text: 'Reason to stop\nobject deleted\nfilters do not match\noperator stops',
      role: 'kopf',
    },
    { x: 186, y: 52, width: 80, height: 64, text: 'stopped\nis set', role: 'kopf' },
    { x: 406, y: 52, width: 86, height: 64, text: 'signal\nis aborted', role: 'kopf' },
    { x: 630, y: 52, width: 106, height: 64, text: 'Abandoned\nwith a warning', role: 'bad' },
    {
      x: 186,
      y: 206,
      width: 306,
      height: 60,
      text: 'The daemon returns\nits patch and result are written',
      role: 'you',
    },
    { x: 594, y: 206, width: 142, height: 60, text: 'Finalizer removed\nobject is deleted', role: 'kopf' },
  ],
  arrows: [
    {
      points: [
        [160, 84],
        [186, 84],
      ],
    },
    {
      points: [
        [266, 84],
        [406, 84],
      ],
      label: 'cancellationBackoff',
      at: [335, 76],
    },
    {
      points: [
        [492, 84],
        [630, 84],
      ],
      label: 'cancellationTimeout',
      at: [560, 76],
    },
    {
      points: [
        [226, 116],
        [226, 206],
      ],
      label: 'usual case',
      at: [234, 164],
      anchor: 'start',
    },
    {
      points: [
        [449, 116],
        [449, 206],
      ],
    },
    {
      points: [
        [492, 236],
        [594, 236],
      ],
    },
    {
      points: [
        [680, 116],
        [680, 206],
      ],
    },
  ],
}

const operatorLife: Diagram = {
  name: 'operator-life',
  title: 'Start and stop of an operator',
  description:
    'Start: your files are loaded, startup handlers run, the health endpoint listens, the operator logs in, reads what the cluster serves and its permissions, joins the peering or the election, lists objects and fills the indices; then handlers are called. Stop, on SIGTERM: watching ends, running handlers finish within the exit timeout, daemons and timers stop, peering and Lease are released, cleanup handlers run, and the process exits.',
  width: 760,
  height: 286,
  legend: ['you', 'kopf'],
  boxes: [
    { x: 24, y: 24, width: 712, height: 106, text: 'Start', role: 'lane' },
    { x: 40, y: 60, width: 84, height: 54, text: 'Load\nyour files', role: 'you' },
    { x: 142, y: 60, width: 92, height: 54, text: 'on.startup', role: 'you' },
    { x: 252, y: 60, width: 92, height: 54, text: 'Log in\non.login', role: 'you' },
    { x: 362, y: 60, width: 108, height: 54, text: 'Discover\nresources', role: 'kopf' },
    { x: 488, y: 60, width: 104, height: 54, text: 'Coordinate\nLease, peers', role: 'kopf' },
    { x: 610, y: 60, width: 110, height: 54, text: 'List, watch\nindices first', role: 'kopf' },
    { x: 24, y: 152, width: 712, height: 106, text: 'Stop: SIGTERM, or running.stop()', role: 'lane' },
    { x: 40, y: 188, width: 100, height: 54, text: 'Stop watching', role: 'kopf' },
    { x: 158, y: 188, width: 122, height: 54, text: 'Handlers end\nwithin 15 s', role: 'you' },
    { x: 298, y: 188, width: 118, height: 54, text: 'Daemons and\ntimers stop', role: 'you' },
    { x: 434, y: 188, width: 104, height: 54, text: 'Release\nLease, peers', role: 'kopf' },
    { x: 556, y: 188, width: 92, height: 54, text: 'on.cleanup', role: 'you' },
    { x: 666, y: 188, width: 54, height: 54, text: 'Exit', role: 'kopf' },
  ],
  arrows: [
    ...[
      [124, 142],
      [234, 252],
      [344, 362],
      [470, 488],
      [592, 610],
    ].map(([from, to]) => ({
      points: [
        [from!, 87],
        [to!, 87],
      ] as const,
    })),
    ...[
      [140, 158],
      [280, 298],
      [416, 434],
      [538, 556],
      [648, 666],
    ].map(([from, to]) => ({
      points: [
        [from!, 215],
        [to!, 215],
      ] as const,
    })),
  ],
}

const replicas: Diagram = {
  name: 'replicas',
  title: 'Leader election and peering',
  description:
    'Leader election: replicas of one operator share a Lease. The leader handles objects and renews the Lease; the other replicas watch and wait, and one takes over when the Lease is released or expires. Peering: different operators for the same objects share a peering object. The operator with the highest priority handles objects, and the others pause.',
  width: 760,
  height: 330,
  boxes: [
    { x: 24, y: 24, width: 346, height: 282, text: 'Leader election: replicas of one operator', role: 'lane' },
    { x: 44, y: 66, width: 140, height: 76, text: 'Leader\nhandles objects,\nrenews every 2 s', role: 'good' },
    { x: 210, y: 66, width: 140, height: 76, text: 'Other replica\nwatches, waits,\nwrites nothing', role: 'kopf' },
    { x: 122, y: 222, width: 150, height: 60, text: 'Lease\nexpires after 15 s', role: 'cluster' },
    { x: 390, y: 24, width: 346, height: 282, text: 'Peering: several operators', role: 'lane' },
    { x: 410, y: 66, width: 140, height: 76, text: 'Priority 666\nkopf run --dev\nhandles objects', role: 'good' },
    { x: 576, y: 66, width: 140, height: 76, text: 'Priority 0\nthe deployed one\nis paused', role: 'kopf' },
    { x: 488, y: 222, width: 150, height: 60, text: 'KopfPeering\nlists who is alive', role: 'cluster' },
  ],
  arrows: [
    {
      points: [
        [114, 142],
        [165, 222],
      ],
      label: 'renews',
      at: [128, 188],
      anchor: 'end',
    },
    {
      points: [
        [280, 142],
        [229, 222],
      ],
      label: 'watches',
      at: [266, 188],
      anchor: 'start',
    },
    {
      points: [
        [480, 142],
        [531, 222],
      ],
      label: 'keep-alive',
      at: [494, 188],
      anchor: 'end',
    },
    {
      points: [
        [646, 142],
        [595, 222],
      ],
      label: 'keep-alive',
      at: [632, 188],
      anchor: 'start',
    },
  ],
}

const trace: Diagram = {
  name: 'trace',
  title: 'The trace of a creation',
  description:
    'The widths show the time. The span of the processing, create databases.example.com, is as wide as the picture. Below it are the span of the handler, create provision, and after it the patch that writes the result. Below the handler are a step with a request, and a sub-handler. A dashed arrow leads from the processing to the trace of the author of the object: a link.',
  width: 760,
  height: 286,
  legend: ['you', 'kopf', 'cluster'],
  boxes: [
    { x: 24, y: 24, width: 220, height: 36, text: 'trace of the author', role: 'lane' },
    { x: 24, y: 104, width: 712, height: 32, text: 'create databases.example.com', role: 'kopf' },
    { x: 44, y: 146, width: 432, height: 32, text: 'create provision', role: 'you' },
    { x: 496, y: 146, width: 230, height: 32, text: 'PATCH …/databases/{name}', role: 'cluster' },
    { x: 64, y: 188, width: 204, height: 32, text: 'step network', role: 'you' },
    { x: 288, y: 188, width: 178, height: 32, text: 'subhandler provision/disk', role: 'you' },
    { x: 74, y: 230, width: 184, height: 32, text: 'POST …/services', role: 'cluster' },
  ],
  arrows: [
    {
      points: [
        [134, 104],
        [134, 60],
      ],
      label: 'link, from the annotation tracing.k8s.io/traceparent',
      at: [146, 87],
      anchor: 'start',
      dashed: true,
    },
  ],
}

export const diagrams: readonly Diagram[] = [
  howItWorks,
  causes,
  handlerLife,
  deletion,
  reconcile,
  daemonStop,
  operatorLife,
  replicas,
  trace,
]
