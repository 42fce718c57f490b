//! Packets as data control loads them into Redis.

mod stack {
    use std::sync::Arc;
    use std::time::Duration;

    use base::clock::Clock;
    use base::config::{ServiceAddress, sqlite_in};
    use domain::packet::{Giver, Packet, PacketState, Share, Split};
    use domain::{Bucket, PacketId, UserId};
    use engine::packets::directory::PacketDirectory;
    use engine::packets::redis::{RedisShares, Staged};
    use engine::packets::sync::PacketSync;
    use engine::redis::{connection, keys};
    use redis::AsyncCommands;
    use store::Store;
    use uuid::Uuid;

    use crate::support::{Fixture, Rung};

    const SHARES: i64 = 3;

    struct Packets {
        shares: RedisShares,
        store: Store,
        _fixture: Fixture,
    }

    impl Packets {
        async fn new() -> Packets {
            let fixture = Fixture::new(Rung::Redis).await;
            let master = ServiceAddress::from(fixture.settings["SECKILL_REDIS_URL"].as_str());
            let store = Store::open(&sqlite_in(fixture.dir())).unwrap();
            store.migrate().await.unwrap();
            let (master, directory) = (connection::shared(&master).unwrap(), PacketDirectory::new(store.clone()));
            let shares = RedisShares::new(master, store.clone(), Clock::system(), Arc::new(directory));
            Packets { shares, store, _fixture: fixture }
        }

        async fn is_loaded(&self, packet: &Packet) -> bool {
            self.shares.survey(&[Bucket::whole(packet.id)]).await.unwrap()[0].as_ref().unwrap().is_some()
        }
    }

    fn packet(id: i64) -> Packet {
        let now = Clock::system().now();
        Packet {
            id: PacketId(id),
            giver: Giver::Shop,
            total: SHARES,
            count: SHARES,
            min: 1,
            max: 1,
            split: Split::Equal,
            greeting: String::new(),
            own: true,
            opens_at: now,
            expires_at: now + Duration::from_secs(3600),
            buckets: 1,
            state: PacketState::Open,
            claimed: 0,
            claimed_amount: 0,
            epoch: 0,
            created_at: now,
            settled_at: None,
            best: None,
        }
    }

    /// A master that restarts or fails over may lose what was staged a moment ago.
    #[tokio::test]
    async fn packet_is_not_loaded_without_the_shares_that_redis_lost() {
        let packets = Packets::new().await;
        let (packet, bucket) = (packet(7), Bucket::whole(PacketId(7)));
        let shares: Vec<Share> = (0..SHARES).map(|index| Share { index, amount: 1 }).collect();
        let users = [(UserId(Uuid::from_u128(1)), shares[0])];
        for (epoch, lost) in [(1, Some("loading")), (2, Some("loading-users")), (3, None)] {
            let mut staged = Staged::default();
            packets.shares.stage(bucket, epoch, &mut staged, &shares[1..2], &users).await.unwrap();
            if let Some(lost) = lost {
                let key = format!("{}:{lost}:{epoch}", keys::hash(bucket));
                assert_eq!(packets.shares.connection().del::<_, i64>(key).await.unwrap(), 1, "{lost}");
            }
            // The rest of the shares is staged after the loss.
            packets.shares.stage(bucket, epoch, &mut staged, &shares[2..], &[]).await.unwrap();
            let loaded = packets.shares.load(bucket, &packet, epoch, false, staged).await;
            assert_eq!(
                (loaded.is_ok(), packets.is_loaded(&packet).await),
                (lost.is_none(), lost.is_none()),
                "{lost:?}"
            );
        }
    }

    #[tokio::test]
    async fn packet_that_cannot_be_loaded_holds_up_no_other() {
        let packets = Packets::new().await;
        let (failing, other) = (packet(7), packet(8));
        for packet in [&failing, &other] {
            packets.store.packets().give(packet, &[1; SHARES as usize], None, None, 2).await.unwrap();
        }
        let staging = keys::loading(Bucket::whole(failing.id), 1);
        let () = packets.shares.connection().set(staging, "not a list").await.unwrap();
        let metrics = Arc::default();
        let packet_sync =
            PacketSync::new(packets.shares.clone(), packets.store.clone(), None, Clock::system(), metrics);
        let error = packet_sync.step().await.unwrap_err();
        assert!(error.to_string().contains("WRONGTYPE"), "{error:#}");
        assert!(!packets.is_loaded(&failing).await && packets.is_loaded(&other).await);
    }
}
