/**
 * kafkajs 2.2.4 tells that it rebalances only where a heartbeat said so (runner.js). Where its metadata is stale it joins again from within a
 * fetch (consumerGroup.js, recoverFromFetch) and says nothing until it has the new assignment; batches that were fetched before go on
 * being handed over meanwhile, though another member may read those partitions by then.
 */

import type { Consumer } from "kafkajs";
import ConsumerGroup from "kafkajs/src/consumer/consumerGroup.js";

const REBALANCING: Consumer["events"]["REBALANCING"] = "consumer.rebalancing";
const announced = Symbol("joins are announced");

type Group = {
  [announced]?: true;
  joinAndSync(): Promise<void>;
  instrumentationEmitter: { emit(event: string, payload: object): void };
};

/** From now on every consumer says REBALANCING before each of its joins, the first one included. Once is enough. */
export function announceJoins(): void {
  const group = ConsumerGroup.prototype as Group;
  if (group[announced]) return;
  group[announced] = true;
  const { joinAndSync } = group;
  group.joinAndSync = function announcedJoin(this: Group) {
    this.instrumentationEmitter.emit(REBALANCING, {});
    return joinAndSync.call(this);
  };
}
