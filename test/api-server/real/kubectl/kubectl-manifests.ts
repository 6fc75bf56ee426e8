/** Manifests of the sessions, as file names and their text. The CRD of `gadgets.example.com` is created before. */

export const definition: string = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.kubectl.example.com
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: { plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd], categories: [toys] }
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas }
      additionalPrinterColumns:
        - { name: Size, type: integer, jsonPath: .spec.size }
        - { name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
        - { name: Colour, type: string, jsonPath: .spec.colour, priority: 1 }
        - { name: Age, type: date, jsonPath: .metadata.creationTimestamp }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: { type: integer, minimum: 1 }
                colour: { type: string, default: red }
                replicas: { type: integer }
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
`

const gadget = (name: string, rest: string) => `
apiVersion: kubectl.example.com/v1
kind: Gadget
metadata: { name: ${name}, labels: { app: gadgets } }
${rest}
`

/** Changed versions of the objects below. */
const changes: Readonly<Record<string, string>> = {
  'config-changed.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { app: x } }
data: { key: changed, more: "3" }
`,
  'config-dropped.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config }
`,
  'deployment-changed.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { new: label } }
spec:
  selector: { matchLabels: { app: web } }
  strategy: { type: Recreate }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: side, image: busybox, command: [sleep, 1d] }
        - name: main
          image: nginx:2
          ports: [{ containerPort: 80, name: http }, { containerPort: 443 }]
          env: [{ name: C, value: d }, { name: A, value: changed }]
`,
  'deployment-misspelt.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replica: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers: [{ name: main, image: nginx:1, imagePullPolice: Never }]
`,
  'several.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: first, labels: { set: several } }
data: { a: b }
---
apiVersion: v1
kind: Secret
metadata: { name: second, labels: { set: several } }
stringData: { password: swordfish }
---
apiVersion: v1
kind: Service
metadata: { name: third, labels: { set: several } }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`,
  'fewer.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: first, labels: { set: several } }
data: { a: b }
`,
  'bad-list.yaml': `
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: listed-1 }, datum: {} }
`,
  'patch.yaml': 'spec: { template: { spec: { containers: [{ name: main, image: "nginx:patched" }] } } }\n',
  'patch.json': '[{"op":"add","path":"/metadata/labels","value":{"from":"file"}}]\n',
  'template.txt': '{{.metadata.name}} has {{len .data}} keys\n',
  'columns.txt': 'NAME KEY\nmetadata.name data.key\n',
  'values.env': 'ONE=1\nTWO=two words\n',
  'edit.sh':
    '#!/bin/sh\nsed -i "s/key: value/key: edited/; s/replicas: 2/replicas: 4/; s/size: 1/size: 9/; s/nginx:1/nginx:9/" "$1"\n',
  'spoil.sh': '#!/bin/sh\nsed -i "s/^  name: .*/  name: Wrong_Name/" "$1"\n',
  'leave.sh': '#!/bin/sh\nexit 0\n',
}

const workloads: Readonly<Record<string, string>> = {
  'pod.yaml': `
apiVersion: v1
kind: Pod
metadata: { name: alone, labels: { app: alone } }
spec:
  automountServiceAccountToken: false
  containers:
    - { name: main, image: nginx:1, ports: [{ containerPort: 80 }], resources: { requests: { cpu: 100m, memory: 1Gi } } }
    - { name: side, image: busybox, env: [{ name: A, value: b }] }
`,
  'statefulset.yaml': `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  replicas: 3
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { containers: [{ name: db, image: postgres:1 }] }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`,
  'daemonset.yaml': `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec: { nodeSelector: { disk: ssd }, containers: [{ name: agent, image: agent:1 }] }
`,
  'replicaset.yaml': `
apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: set }
spec:
  replicas: 2
  selector: { matchLabels: { app: set } }
  template:
    metadata: { labels: { app: set } }
    spec: { containers: [{ name: main, image: nginx:1 }] }
`,
  'job.yaml': `
apiVersion: batch/v1
kind: Job
metadata: { name: work }
spec:
  completions: 3
  parallelism: 2
  template:
    spec: { restartPolicy: Never, containers: [{ name: main, image: busybox, command: ["true"] }] }
`,
  'autoscaler.yaml': `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: scaler }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
  minReplicas: 1
  maxReplicas: 5
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 60 } } }]
`,
}

const others: Readonly<Record<string, string>> = {
  'ingress.yaml': `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: front }
spec:
  ingressClassName: nginx
  tls: [{ hosts: [example.com], secretName: tls }]
  rules:
    - host: example.com
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }] }
`,
  'policy.yaml': `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: closed }
spec:
  podSelector: { matchLabels: { app: web } }
  policyTypes: [Ingress, Egress]
  ingress: [{ from: [{ podSelector: { matchLabels: { app: front } } }], ports: [{ port: 80, protocol: TCP }] }]
`,
  'claim.yaml': `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: claim }
spec: { accessModes: [ReadWriteOnce], storageClassName: none, resources: { requests: { storage: 1Gi } } }
`,
  'budget.yaml': `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: budget }
spec: { minAvailable: 1, selector: { matchLabels: { app: web } } }
`,
  'quota.yaml': `
apiVersion: v1
kind: ResourceQuota
metadata: { name: quota }
spec: { hard: { pods: "10", requests.cpu: "4" } }
`,
  'limits.yaml': `
apiVersion: v1
kind: LimitRange
metadata: { name: limits }
spec: { limits: [{ type: Container, default: { cpu: 500m }, defaultRequest: { cpu: 100m } }] }
`,
  'lease.yaml': `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: lease }
spec: { holderIdentity: me, leaseDurationSeconds: 15 }
`,
  'slice.yaml': `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: slice, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.1], conditions: { ready: true } }]
ports: [{ name: http, port: 80, protocol: TCP }]
`,
  'node.yaml': 'apiVersion: v1\nkind: Node\nmetadata: { name: kubectl-node }\n',
  'event.yaml': `
apiVersion: v1
kind: Event
metadata: { name: kubectl-event }
involvedObject: { apiVersion: v1, kind: Node, name: kubectl-none }
type: Warning
reason: Odd
message: Something is odd
count: 3
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:10:00Z"
source: { component: tester }
`,
}

/** Files in folders, for `-k` and for `-f` with a folder. */
const folders: Readonly<Record<string, string>> = {
  'kustom/kustomization.yaml': `
resources: [config.yaml, deployment.yaml]
namePrefix: pre-
labels: [{ pairs: { by: kustomize }, includeSelectors: true }]
images: [{ name: nginx, newTag: "7" }]
configMapGenerator: [{ name: generated, literals: [a=b], options: { disableNameSuffixHash: true } }]
`,
  'kustom/config.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: k }\ndata: { a: b }\n',
  'kustom/deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: k }
spec:
  selector: { matchLabels: { app: k } }
  template:
    metadata: { labels: { app: k } }
    spec: { containers: [{ name: main, image: nginx:1 }] }
`,
  'folder/one.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one, labels: { folder: "yes" } }\n',
  'folder/two.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: { name: two, labels: { folder: "yes" } }\n',
  'folder/deeper/three.json':
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"three","labels":{"folder":"yes"}}}\n',
}

export const manifests: Readonly<Record<string, string>> = {
  'gadget.yaml': gadget('one', 'spec: { size: 1, replicas: 1 }'),
  'gadgets.yaml': [gadget('one', 'spec: { size: 1 }'), gadget('two', 'spec: { size: 2, colour: blue }')].join('---'),
  'bigger.yaml': gadget('one', 'spec: { size: 5, replicas: 1 }'),
  'invalid.yaml': gadget('invalid', 'spec: { size: 0 }'),
  'incomplete.yaml': gadget('incomplete', 'spec: {}'),
  'unknown.yaml': gadget('unknown', 'spec: { size: 1, nonsense: true }'),
  'mistyped.yaml': gadget('mistyped', 'spec: { size: large }'),
  'held.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: held, finalizers: [example.com/keep] }
`,
  'config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { app: x, tier: front } }
data: { key: value, other: "2" }
`,
  'other-config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config, labels: { tier: back } }
data: { key: other, more: "1" }
`,
  'less-config.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: config }
data: { key: value }
`,
  'other-deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  template:
    spec:
      containers:
        - { name: main, env: [{ name: A, value: c }, { name: D, value: e }] }
        - { name: second, image: nginx:2 }
`,
  'strict.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: strict, nonsense: 1 }
datum: {}
`,
  'wrong-name.yaml': `
apiVersion: v1
kind: ConfigMap
metadata: { name: Wrong_Name }
`,
  'no-kind.yaml': 'apiVersion: v1\nmetadata: { name: x }\n',
  'deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: main, image: nginx:1, ports: [{ containerPort: 80 }], env: [{ name: A, value: b }] }
`,
  'bad-deployment.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata: { name: bad }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: other } }
    spec: { containers: [{ name: main }] }
`,
  'list.yaml': `
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: listed-1 } }
  - { apiVersion: v1, kind: Secret, metadata: { name: listed-2 }, stringData: { a: b } }
`,
  ...changes,
  ...workloads,
  ...others,
  ...folders,
}
