/**
 * A connection between the threads of one process: a `BroadcastChannel` carries what is published to all others.
 *
 * @module
 */
import { type Connection, localConnection } from "@exrp/replay/shards";

/** Makes a connection of this thread. All threads that give the same name are connected. */
export function threadConnection(name: string): Connection & { close(): Promise<void> } {
  const local = localConnection();
  const channel = new BroadcastChannel(name);
  const [publish, close] = [local.publish.bind(local), local.close.bind(local)];
  // Inboxes have numbers, and each thread has a number 0. So one that goes to other threads has this one's name in front.
  const here = `thread-${crypto.randomUUID()}.`;

  local.publish = (subject, payload, options) => {
    publish(subject, payload, options);
    const reply = options?.reply;
    channel.postMessage([subject, payload?.slice(), reply && here + reply]);
  };
  channel.onmessage = ({ data: [subject, payload, reply] }) => {
    if (local.isClosed()) return;
    const isMine = subject.startsWith(here);
    publish(isMine ? subject.slice(here.length) : subject, payload, reply && { reply });
  };
  local.close = () => {
    channel.close();
    return close();
  };
  return local;
}
