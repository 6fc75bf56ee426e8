/** Manifests that are created on both servers. */

const template = (app: string, more = '') => `
    metadata: { labels: { app: ${app} }${more} }
    spec: { containers: [{ name: main, image: "nginx:1" }] }`

const job = (name: string, spec: string, behaviour = '') => `
apiVersion: batch/v1
kind: Job
metadata: { name: ${name} }
spec:
${spec}
  template:
    metadata: { annotations: { "kopf.dev/pod": "${behaviour}" } }
    spec: { restartPolicy: Never, containers: [{ name: main, image: busybox }] }
---`

export const deployment: string = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, annotations: { note: hello } }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template: ${template('web')}
`

export const recreated: string = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: once }
spec:
  replicas: 2
  strategy: { type: Recreate }
  selector: { matchLabels: { app: once } }
  template: ${template('once')}
`

export const stuck: string = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: stuck }
spec:
  replicas: 2
  progressDeadlineSeconds: 2
  selector: { matchLabels: { app: stuck } }
  template: ${template('stuck', ', annotations: { "kopf.dev/pod": never ready }')}
`

export const jobs: string = [
  job('work', '  completions: 2', 'succeed'),
  job('indexed', '  completions: 3\n  parallelism: 3\n  completionMode: Indexed', 'succeed'),
  job('bad', '  backoffLimit: 0', 'fail'),
  job('late', '  activeDeadlineSeconds: 2', 'run'),
  job('asleep', '  suspend: true', 'succeed'),
].join('\n')

export const cronJob: string = `
apiVersion: batch/v1
kind: CronJob
metadata: { name: tick }
spec:
  schedule: "@every 2s"
  jobTemplate:
    spec:
      template:
        metadata: { annotations: { "kopf.dev/pod": succeed } }
        spec: { restartPolicy: Never, containers: [{ name: main, image: busybox }] }
`

export const replicaSet: string = `
apiVersion: v1
kind: Pod
metadata: { name: stray, labels: { app: web } }
spec: { containers: [{ name: main, image: "nginx:1" }] }
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template: ${template('web')}
`

export const statefulSet: string = `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  replicas: 2
  serviceName: db
  selector: { matchLabels: { app: db } }
  template: ${template('db')}
`

export const daemonSet: string = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template: ${template('agent')}
`

export const service: string = `
apiVersion: v1
kind: Service
metadata: { name: web, labels: { team: blue } }
spec: { selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: db }
spec: { clusterIP: None, selector: { app: db }, ports: [{ port: 5432 }] }
---
${deployment}
---
${statefulSet}
`

export const claim: string = `
apiVersion: v1
kind: PersistentVolume
metadata: { name: NAMESPACE }
spec:
  capacity: { storage: 2Gi }
  accessModes: [ReadWriteOnce]
  hostPath: { path: /data }
  storageClassName: NAMESPACE
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { storageClassName: NAMESPACE, accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`
